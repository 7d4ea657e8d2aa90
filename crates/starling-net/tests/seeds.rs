//! What the fuzz target of compressed links was given for good.

#[path = "../../../fuzz/checks/compressed.rs"]
mod compressed;

#[test]
fn seeds_are_sound() {
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/compressed");
    let mut count = 0;
    for seed in std::fs::read_dir(seeds).unwrap() {
        let bytes = std::fs::read(seed.unwrap().path()).unwrap();
        compressed::check(&bytes);
        // And what one changed bit makes of it.
        for bit in (0..8 * bytes.len()).step_by(89) {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            compressed::check(&changed);
        }
        count += 1;
    }
    assert!(count >= 4, "{count}");
}
