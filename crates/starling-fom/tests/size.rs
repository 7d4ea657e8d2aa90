//! Reading and merging is linear in the size of modules: allocations and bytes are counted at two
//! sizes. (Comparisons are not counted; a walk over all definitions for each makes this test take
//! minutes.) What is not linear by its nature is bounded.

use starling_fom::{Check, Code, FomError, ObjectModel, parse, standard_model};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The allocator counts for the whole process, in which what runs tests allocates, too, where one ends and
/// the next begins: they are one.
#[test]
fn memory() {
    work_is_in_proportion_to_size();
    what_is_too_much_is_refused_with_its_limit();
    models_share_the_mim();
    a_model_knows_how_much_memory_it_takes();
}

/// Merges a module, then, as another federate would, the same again.
fn load(text: &str) -> Result<ObjectModel, FomError> {
    let mut model = standard_model().clone();
    for name in ["a.xml", "b.xml"] {
        let module = parse(name, text.as_bytes())?;
        model.merge(&[module], Check::Lenient)?;
    }
    Ok(model)
}

fn objects(inner: &str) -> String {
    format!(
        "<objectModel><objects><objectClass><name>HLAobjectRoot</name>{inner}</objectClass>\
         </objects></objectModel>"
    )
}

fn interactions(inner: &str) -> String {
    format!(
        "<objectModel><interactions><interactionClass><name>HLAinteractionRoot</name>{inner}\
         </interactionClass></interactions></objectModel>"
    )
}

fn many(n: usize, row: impl Fn(usize) -> String) -> String {
    (0..n).map(row).collect()
}

fn attribute(i: usize) -> String {
    format!("<attribute><name>a{i}</name><dataType>HLAbyte</dataType></attribute>")
}

/// A module with as many of something.
type Shape = fn(usize) -> String;

const SHAPES: [(&str, Shape); 12] = [
    ("elements that the OMT does not know", |n| {
        objects(&many(n, |i| format!("<atribute{i}/>")))
    }),
    ("namespaces", |n| {
        let open = |i| format!("<x:a{i} xmlns:x='urn:{i}'/>");
        let name = "n".repeat(n);
        format!(
            "<objectModel xmlns='urn:{name}'>{}</objectModel>",
            many(n, open)
        )
    }),
    ("attributes of a class", |n| {
        let all = many(n, attribute);
        objects(&format!(
            "<objectClass><name>Boat</name>{all}</objectClass>"
        ))
    }),
    ("classes with an attribute", |n| {
        let class = |i| {
            format!(
                "<objectClass><name>C{i}</name>{}</objectClass>",
                attribute(i)
            )
        };
        objects(&many(n, class))
    }),
    ("the same class again and again", |n| {
        objects(&many(n, |_| {
            format!("<objectClass><name>C</name>{}</objectClass>", attribute(0))
        }))
    }),
    ("scaffolding of a class with many below it", |n| {
        let below = many(n, |i| {
            format!("<objectClass><name>C{i}</name></objectClass>")
        });
        let again = "<objectClass><name>Boat</name></objectClass>".repeat(n);
        objects(&format!(
            "<objectClass><name>Boat</name>{below}</objectClass>{again}"
        ))
    }),
    (
        "scaffolding of an interaction class with many below it",
        |n| {
            let below = many(n, |i| {
                format!("<interactionClass><name>C{i}</name></interactionClass>")
            });
            let again = "<interactionClass><name>Horn</name></interactionClass>".repeat(n);
            interactions(&format!(
                "<interactionClass><name>Horn</name>{below}</interactionClass>{again}"
            ))
        },
    ),
    ("a class that repeats what it inherits", |n| {
        let below = many(n, |i| {
            format!("<objectClass><name>C{i}</name></objectClass>")
        });
        let again = format!(
            "<objectClass><name>Tug</name>{}</objectClass>",
            attribute(0)
        )
        .repeat(n);
        objects(&format!(
            "<objectClass><name>Boat</name>{}<objectClass><name>Tug</name>{below}</objectClass>{again}</objectClass>",
            attribute(0)
        ))
    }),
    ("parameters of a class", |n| {
        let all = many(n, |i| format!("<parameter><name>p{i}</name></parameter>"));
        interactions(&format!(
            "<interactionClass><name>Horn</name>{all}</interactionClass>"
        ))
    }),
    ("enumerators of a type", |n| {
        let all = many(n, |i| {
            format!("<enumerator><name>e{i}</name><value>{i}</value></enumerator>")
        });
        format!(
            "<objectModel><dataTypes><enumeratedDataTypes><enumeratedData><name>E</name>\
             <representation>HLAbyte</representation>{all}</enumeratedData></enumeratedDataTypes>\
             </dataTypes></objectModel>"
        )
    }),
    ("dimensions", |n| {
        let all = many(n, |i| format!("<dimension><name>d{i}</name></dimension>"));
        format!("<objectModel><dimensions>{all}</dimensions></objectModel>")
    }),
    ("lines of prose", |n| {
        let all = many(n, |i| format!("{i}: prose &amp; more<!-- and so on -->\n"));
        objects(&format!("<semantics>{all}</semantics>"))
    }),
];

fn work_is_in_proportion_to_size() {
    load(&objects("")).unwrap();
    for (shape, text) in SHAPES {
        let [small, large] = [10_000, 40_000].map(|n| {
            let text = text(n);
            let region = Region::new(ALLOCATOR);
            let loaded = load(&text);
            loaded.unwrap_or_else(|e| panic!("{shape}: {e}"));
            let change = region.change();
            [change.allocations, change.bytes_allocated]
        });
        for (what, small, large) in [
            ("allocations", small[0], large[0]),
            ("bytes", small[1], large[1]),
        ] {
            // Lists grow by doubling, so bytes may be twice as many by chance.
            assert!(large <= 6 * small, "{shape}: {what} {small}, then {large}");
        }
    }
}

fn what_is_too_much_is_refused_with_its_limit() {
    let deep = |name: &str| {
        let open = format!("<objectClass><name>{name}</name>").repeat(100);
        open + &many(2_000, |i| {
            format!("<objectClass><name>C{i}</name></objectClass>")
        }) + &"</objectClass>".repeat(100)
    };
    let xml_attributes = many(70_000, |i| format!("a{i}='' "));
    let heirs = many(3_000, attribute)
        + &many(3_000, |i| {
            format!("<objectClass><name>C{i}</name></objectClass>")
        });
    let long = "n".repeat(990);
    let record = format!("<f{long}>").repeat(50) + "<x>1</x>" + &format!("</f{long}>").repeat(50);
    let tag = "t".repeat(9_900);
    let repeated = format!("<{tag}>{}</{tag}>", "<b>1</b>".repeat(60_000));
    let empty = format!("<{tag}>{}</{tag}>", "<b/>".repeat(60_000));
    let row = |inner: &str| {
        format!(
            "<objectModel><dataTypes><t><d><name>R</name>{inner}</d></t></dataTypes></objectModel>"
        )
    };
    for (text, limit) in [
        (row(&repeated), "4 for each byte"),
        (row(&empty), "4 for each byte"),
        (
            objects(&format!("<x {xml_attributes}/>")),
            "256 XML attributes",
        ),
        (objects(&"<x/>".repeat(1_000_001)), "1000000 elements"),
        ("<x>".repeat(500), "408 deep"),
        (
            objects(&format!(
                "<objectClass><name>Boat</name>{heirs}</objectClass>"
            )),
            "4000000 attributes",
        ),
        (objects(&deep(&long)), "67108864 bytes"),
        (row(&record), "10000 bytes"),
    ] {
        let region = Region::new(ALLOCATOR);
        let Err(error) = load(&text) else {
            panic!("not refused for its {limit}")
        };
        assert_eq!(error.code(), Code::TooLarge, "{error}");
        assert!(error.what().contains(limit), "{limit}: {error}");
        let taken = region.change().bytes_allocated;
        assert!(taken < 1_000_000_000, "{limit}: {taken} bytes");
    }
}

/// A federation execution does not have a MIM of its own.
fn models_share_the_mim() {
    let boat = parse(
        "m.xml",
        objects("<objectClass><name>Boat</name></objectClass>").as_bytes(),
    );
    let boat = boat.unwrap();
    let mim = standard_model();
    let region = Region::new(ALLOCATOR);
    let models: Vec<_> = (0..100)
        .map(|_| {
            let mut model = mim.clone();
            model
                .merge(std::slice::from_ref(&boat), Check::Lenient)
                .unwrap();
            model
        })
        .collect();
    let change = region.change();
    let kept = change.bytes_allocated - change.bytes_deallocated;
    let each = kept / models.len();
    assert!(each < 20_000, "{each} bytes for a federation execution");
}

/// What a model says that it takes is what it takes, so that a budget for models is one for memory.
fn a_model_knows_how_much_memory_it_takes() {
    assert!(standard_model().memory_bytes() < 10_000);
    let heirs: Shape = |n| {
        let all = many(n / 20, attribute)
            + &many(n / 20, |i| {
                format!("<objectClass><name>C{i}</name></objectClass>")
            });
        objects(&format!(
            "<objectClass><name>Boat</name>{all}</objectClass>"
        ))
    };
    let shapes = SHAPES
        .into_iter()
        .chain([("attributes inherited by many", heirs)]);
    for (shape, text) in shapes {
        let text = text(20_000);
        let region = Region::new(ALLOCATOR);
        let model = load(&text).unwrap();
        let change = region.change();
        let kept = change.bytes_allocated - change.bytes_deallocated;
        let told = model.memory_bytes();
        // Of small ones the allocator's part is the larger one, and no allocator tells it.
        let most = 2 * kept + 10_000;
        assert!(
            kept <= told + 10_000 && told <= most,
            "{shape}: {told} for {kept}"
        );
    }
}
