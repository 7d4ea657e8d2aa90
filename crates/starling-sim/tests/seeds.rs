//! A fixed share of seeds in every test run; a campaign runs `examples/campaign.rs`.

use starling_sim::Report;

#[test]
fn seeds() {
    let acquisitions = replay(800, starling_sim::run);
    assert!(
        acquisitions > 4_000,
        "the programs do too little: {acquisitions} acquisitions"
    );
}

#[test]
fn seeds_of_data_distribution_management() {
    replay(1000, starling_sim::ddm::run);
}

/// How often ownership was acquired.
fn replay(seeds: u64, run: fn(u64, usize) -> Report) -> u64 {
    let (mut callbacks, mut acquisitions) = (0, 0);
    for seed in 0..seeds {
        let report = std::panic::catch_unwind(|| run(seed, 300));
        let report = report.unwrap_or_else(|_| panic!("seed {seed}, 300 actions"));
        callbacks += report.callbacks;
        acquisitions += report.acquisitions;
    }
    assert!(
        callbacks > 10_000,
        "the programs do too little: {callbacks} callbacks"
    );
    acquisitions
}
