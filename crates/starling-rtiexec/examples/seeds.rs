//! Writes the seeds of the fuzz target `saved_file`, files of what the seeds of `save` have, without checksums: in the
//! root of the project `cargo run -p starling-rtiexec --example seeds -- fuzz/seeds`

use starling_rtiexec::saves::encode;
use starling_wire::decode_save;
use std::fs;

/// Of the checksum.
const DIGEST_BYTES: usize = 32;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).ok_or("which directory?")?;
    for number in 0..5 {
        let state = fs::read(format!("{directory}/save/state-{number}"))?;
        let mut file = encode(&decode_save(&state)?);
        file.truncate(file.len() - DIGEST_BYTES);
        fs::write(format!("{directory}/saved_file/file-{number}"), file)?;
    }
    Ok(())
}
