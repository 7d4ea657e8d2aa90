//! Any bytes as a FOM module, merged with the standard MIM, then with itself.
//!
//! Run by the fuzz target of this name, and on every file of `fuzz/seeds` by `cargo test`.

use starling_fom::{Check, parse, standard_model};

pub fn check(bytes: &[u8]) {
    let Ok(module) = parse("fuzz.xml", bytes) else {
        return;
    };
    let (model, problems) = standard_model().try_merge(std::slice::from_ref(&module));
    if problems.errors.is_empty() {
        // What merged says the same as itself (1516.1-2010 Annex C).
        let mut again = model.clone();
        again
            .merge(&[module], Check::Lenient)
            .expect("a module merges with itself");
        assert_eq!(
            model.object_classes().count(),
            again.object_classes().count()
        );
    }
    for problem in problems.errors.iter().chain(&problems.warnings) {
        assert!(problem.to_string().contains("\n  do: "));
    }
}
