//! Runs seeds FROM..TO with ACTIONS calls each, goes on after faults and lists them; then prints how often each service
//! (by its room), exception, callback, action of resigning and fault of the network came up:
//! `cargo run --release -p starling-sim --example campaign -- 0 100000 150`
//! Behind them the kind of programs: `plain` (of all rooms but time), `conflated`: where every second federate conflates what it
//! gets; `ddm`: of data distribution management; `time`: of all rooms together with time management; `saves`: with saves and
//! restores; `managed`: these with the management object model; `acts`: services called by federates, and on their behalf by
//! the RTI.
#![allow(clippy::print_stdout, reason = "its result")]

fn main() {
    let number = |n: usize, default: u64| {
        let argument = std::env::args().nth(n);
        argument.map_or(default, |a| a.parse().expect("arguments are whole numbers"))
    };
    let (from, to, actions) = (number(1, 0), number(2, 1000), number(3, 150) as usize);
    assert!(from < to, "no seeds: FROM is {from}, TO is {to}");
    // One seed is run to see where it fails.
    if to - from > 1 {
        std::panic::set_hook(Box::new(|_| {}));
    }
    let kind = std::env::args().nth(4).unwrap_or("plain".into());
    let run = starling_sim::KINDS.iter().find(|(name, _)| *name == kind);
    let (_, run) = run.unwrap_or_else(|| {
        let names = starling_sim::KINDS.map(|(name, _)| name).join("', '");
        panic!("there are no programs of '{kind}'; there are '{names}'")
    });
    let (mut done, mut faults) = (starling_sim::Report::default(), 0u64);
    for seed in from..to {
        match std::panic::catch_unwind(|| run(seed, actions)) {
            Ok(report) => done.add(&report),
            Err(fault) => {
                faults += 1;
                let text = fault.downcast_ref::<String>().map(String::as_str);
                let text = text.or(fault.downcast_ref::<&str>().copied());
                println!("seed {seed}: {}", text.unwrap_or("?"));
                if faults == 20 {
                    break;
                }
            }
        }
    }
    for (what, times) in &done.coverage {
        println!("{times:>12} {what}");
    }
    println!(
        "{} seeds, {} steps, {} callbacks, {faults} faults",
        to - from,
        done.steps,
        done.callbacks
    );
    std::process::exit(i32::from(faults > 0));
}
