//! A fixed share of seeds in every test run; a campaign runs `examples/campaign.rs`.

#[test]
fn seeds() {
    let (mut callbacks, mut acquisitions) = (0, 0);
    for seed in 0..1500 {
        let report = std::panic::catch_unwind(|| starling_sim::run(seed, 300));
        let report = report.unwrap_or_else(|_| panic!("seed {seed}, 300 actions"));
        callbacks += report.callbacks;
        acquisitions += report.acquisitions;
    }
    assert!(
        callbacks > 10_000 && acquisitions > 1_000,
        "the programs do too little: {callbacks} callbacks, {acquisitions} acquisitions"
    );
}
