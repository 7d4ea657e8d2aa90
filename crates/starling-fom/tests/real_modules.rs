//! Published modules load and merge.

use starling_fom::{Check, Module, ObjectModel, parse, standard_mim};
use std::path::PathBuf;

fn data(path: &str) -> Module {
    let full = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/fom")
        .join(path);
    parse(path, &std::fs::read(full).unwrap()).unwrap_or_else(|e| panic!("{e}"))
}

fn mim() -> ObjectModel {
    ObjectModel::new(&parse("HLAstandardMIM", standard_mim().as_bytes()).unwrap()).unwrap()
}

fn merged(paths: &[&str]) -> ObjectModel {
    let mut model = mim();
    let modules: Vec<_> = paths.iter().map(|p| data(p)).collect();
    model
        .merge(&modules, Check::Lenient)
        .unwrap_or_else(|e| panic!("{e}"));
    model
}

const RPR: [&str; 14] = [
    "rpr/RPR-Foundation_v2.0.xml",
    "rpr/RPR-Base_v2.0.xml",
    "rpr/RPR-Enumerations_v2.0.xml",
    "rpr/RPR-Physical_v2.0.xml",
    "rpr/RPR-Aggregate_v2.0.xml",
    "rpr/RPR-Communication_v2.0.xml",
    "rpr/RPR-DER_v2.0.xml",
    "rpr/RPR-Logistics_v2.0.xml",
    "rpr/RPR-Minefield_v2.0.xml",
    "rpr/RPR-SE_v2.0.xml",
    "rpr/RPR-SIMAN_v2.0.xml",
    "rpr/RPR-Switches_v2.0.xml",
    "rpr/RPR-UA_v2.0.xml",
    "rpr/RPR-Warfare_v2.0.xml",
];

#[test]
fn rpr_merges_in_its_order_and_backwards() {
    let forwards = merged(&RPR);
    let mut reversed = RPR;
    reversed.reverse();
    let backwards = merged(&reversed);
    let names = |m: &ObjectModel| {
        let mut names: Vec<_> = m
            .object_classes()
            .map(|c| {
                let mut attributes: Vec<_> = c
                    .attributes
                    .iter()
                    .map(|a| m.attribute(*a).unwrap().name.clone())
                    .collect();
                attributes.sort();
                (c.name.clone(), attributes)
            })
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(&forwards), names(&backwards));
    let aircraft = forwards
        .object_class_by_name("BaseEntity.PhysicalEntity.Platform.Aircraft")
        .unwrap();
    let spatial = forwards
        .attribute_by_name(aircraft.handle, "Spatial")
        .unwrap();
    assert_eq!(
        aircraft.attributes[aircraft.slot(spatial).unwrap() as usize],
        spatial
    );
    let base = forwards
        .object_class_by_name("HLAobjectRoot.BaseEntity")
        .unwrap();
    assert_eq!(
        forwards.attribute_by_name(base.handle, "Spatial"),
        Some(spatial)
    );
}

#[test]
fn one_by_one_gives_the_handles_of_all_at_once() {
    let at_once = merged(&RPR);
    let mut one_by_one = mim();
    for path in RPR {
        one_by_one.merge(&[data(path)], Check::Lenient).unwrap();
    }
    let handles = |m: &ObjectModel| -> Vec<_> {
        m.object_classes()
            .map(|c| (c.name.clone(), c.handle, c.attributes.clone()))
            .collect()
    };
    assert_eq!(handles(&at_once), handles(&one_by_one));
}

#[test]
fn every_restaurant_module_merges_with_the_mim() {
    for path in [
        "restaurant/RestaurantFOMmodule-2010.xml",
        "restaurant/RestaurantSOMmodule-2010.xml",
        "restaurant/RestaurantFOMmodule-2025.xml",
        "restaurant/RestaurantSOMmodule-2025.xml",
        "restaurant/RestaurantExtensionFOMmodule-2025.xml",
    ] {
        merged(&[path]);
    }
    let model = merged(&["restaurant/RestaurantFOMmodule-2010.xml"]);
    assert_eq!(model.update_rate("Low"), Some(10.56));
    assert!(model.switches().auto_provide);
    let drink = model.object_class_by_name("Food.Drink.Soda").unwrap();
    let flavor = model.attribute_by_name(drink.handle, "Flavor").unwrap();
    let dimensions = &model.attribute(flavor).unwrap().dimensions;
    assert_eq!(model.dimension(dimensions[0]).unwrap().name, "SodaFlavor");
}

#[test]
fn a_conflict_names_both_places_and_changes_nothing() {
    let mut model = merged(&["restaurant/RestaurantFOMmodule-2010.xml"]);
    let before = model.object_classes().count();
    let error = model
        .merge(
            &[data("restaurant/RestaurantSOMmodule-2010.xml")],
            Check::Lenient,
        )
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "STL-FOM-012 inconsistent FDD: update rate 'Low': rate 10.56 vs 0.2\n  \
         at restaurant/RestaurantSOMmodule-2010.xml:744; first defined at restaurant/RestaurantFOMmodule-2010.xml:562\n  \
         do: remove one of the two definitions, or make them alike; starling fom diff restaurant/RestaurantFOMmodule-2010.xml restaurant/RestaurantSOMmodule-2010.xml"
    );
    assert_eq!(model.object_classes().count(), before);
}
