//! Writes the seeds of the fuzz target `restore`, the same at every run: in the root of the project
//! `cargo run -p starling-scenario --example restores -- fuzz/seeds/restore`

#[path = "../../../fuzz/checks/restore.rs"]
#[allow(dead_code, reason = "what makes them is a part of it")]
mod restore;

use starling_core::{Services, TimeType};

fn main() -> Result<(), String> {
    let directory = std::env::args().nth(1).ok_or("which directory?")?;
    for number in 0..16u8 {
        let mut services = Services::default();
        match number {
            12 => services.mom = false,
            13 => services.time = false,
            14 => services.ddm = false,
            15 => services.rates = false,
            _ => {}
        }
        let time = if number % 3 == 0 {
            TimeType::Integer64
        } else {
            TimeType::Float64
        };
        let seed = format!("{directory}/genuine-{number}");
        let saved = restore::genuine([number, 0], services, time);
        std::fs::write(&seed, saved).map_err(|e| format!("{seed}: {e}"))?;
    }
    Ok(())
}
