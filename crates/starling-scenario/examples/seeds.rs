//! Writes what scenarios of the fleet send, one file each, as seeds of the fuzz target `executive`:
//! in the root of the project `cargo run -p starling-scenario --example seeds -- DIRECTORY
//! FILE.scenario...`

use starling_scenario::{read_scenarios, record};
use std::path::Path;

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("which directory?")?;
    // As told here it stands in the seeds, which must not depend on where the project lies.
    let foms = Path::new("tests/data/fom");
    for file in arguments {
        let name = Path::new(&file).with_extension("").display().to_string();
        let name = name.replace('/', "-");
        for (number, scenario) in read_scenarios(Path::new(&file))?.iter().enumerate() {
            let sent = record(scenario, &foms.display().to_string());
            let seed = format!("{directory}/{name}-{number}");
            std::fs::write(&seed, sent).map_err(|e| format!("{seed}: {e}"))?;
        }
    }
    Ok(())
}
