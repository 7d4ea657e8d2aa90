//! What is let pass: modules as they are in the field, and what [`Check::Strict`] says of them.

use starling_fom::{Check, Code, Module, ObjectModel, Transportation, parse, standard_model};
use std::path::Path;

fn data(name: &str) -> Module {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/fom/lenient");
    let bytes = std::fs::read(folder.join(name)).unwrap();
    parse(name, &bytes).unwrap_or_else(|e| panic!("{e}"))
}

/// With what each was warned of: line and what of it.
fn merged(names: &[&str]) -> (ObjectModel, Vec<(u32, String)>) {
    let modules: Vec<_> = names.iter().map(|n| data(n)).collect();
    let mut model = standard_model().clone();
    let warnings = model.merge(&modules, Check::Lenient);
    let warnings = warnings.unwrap_or_else(|e| panic!("{e}"));
    let told = warnings.iter().map(|w| (w.at().line, w.what().to_owned()));
    let told = told.collect();
    let strict = standard_model().clone().merge(&modules, Check::Strict);
    assert_eq!(
        strict.err().as_ref(),
        warnings.first(),
        "strict refuses just these"
    );
    (model, told)
}

#[test]
fn a_tag_or_time_that_is_not_applicable_says_nothing() {
    let (model, _) = merged(&["tags-NA.xml", "tags-given.xml"]);
    let tags: Vec<_> = model
        .tables()
        .filter(|(table, ..)| matches!(*table, "tag" | "time"))
        .map(|(_, name, row)| (name, row.field("dataType")))
        .collect();
    let given = [
        ("updateReflectTag", Some("HLAASCIIstring")),
        ("timeStamp", Some("HLAfloat64BE")),
    ];
    assert_eq!(tags, given);
}

#[test]
fn an_attribute_that_a_subclass_has_cannot_become_its_superclasss() {
    let modules = ["tags-given.xml", "tags-NA.xml"].map(data);
    let merged = standard_model().clone().merge(&modules, Check::Lenient);
    assert_eq!(merged.map_err(|e| e.code()).err(), Some(Code::Conflict));
}

#[test]
fn what_changes_no_exchange_of_data_is_told_and_the_first_holds() {
    let (model, told) = merged(&["tags-NA.xml", "tags-given.xml"]);
    let of: Vec<_> = told
        .iter()
        .map(|(line, what)| (*line, what.as_str()))
        .collect();
    let [(18, encoding), (6, privilege), (6, inherited)] = of[..] else {
        panic!("{told:?}")
    };
    assert!(
        encoding.starts_with("data type 'HLAfloat32BE': encoding "),
        "{encoding}"
    );
    assert_eq!(
        privilege,
        "class 'HLAobjectRoot', attribute 'HLAprivilegeToDeleteObject': order TimeStamp vs Receive"
    );
    assert_eq!(
        inherited,
        "class 'HLAobjectRoot.Storm.Squall' defines the attribute 'Force', which it inherits"
    );
    let squall = model.object_class_by_name("Storm.Squall").unwrap();
    let storm = model.object_class_by_name("Storm").unwrap();
    assert_eq!(squall.attributes, storm.attributes);
}

#[test]
fn an_inherited_attribute_declared_otherwise_is_a_conflict() {
    let text = |kind: &str| {
        let force =
            |kind| format!("<attribute><name>Force</name><dataType>{kind}</dataType></attribute>");
        format!(
            "<objectModel><objects><objectClass><name>HLAobjectRoot</name><objectClass>\
             <name>Storm</name>{}<objectClass><name>Squall</name>{}</objectClass></objectClass>\
             </objectClass></objects></objectModel>",
            force("HLAinteger32BE"),
            force(kind)
        )
    };
    for (kind, accepted) in [("HLAinteger32BE", true), ("HLAfloat32BE", false)] {
        let module = parse("m.xml", text(kind).as_bytes()).unwrap();
        let merged = standard_model().clone().merge(&[module], Check::Lenient);
        assert_eq!(merged.is_ok(), accepted, "{kind}");
    }
}

/// Prose does not hide what counts.
#[test]
fn another_size_of_basic_data_is_a_conflict() {
    let text = "<objectModel><dataTypes><basicDataRepresentations><basicData>
        <name>HLAfloat32BE</name><size>64</size><endian>Big</endian><encoding>mine</encoding>
        </basicData></basicDataRepresentations></dataTypes></objectModel>";
    let module = parse("m.xml", text.as_bytes()).unwrap();
    let error = standard_model()
        .clone()
        .merge(&[module], Check::Lenient)
        .unwrap_err();
    assert_eq!(error.code(), Code::Conflict);
}

#[test]
fn a_module_of_2000_keeps_the_mim() {
    let (model, told) = merged(&["of-2000.xml"]);
    assert_eq!(told, []);
    let boat = model.object_class_by_name("Boat").unwrap();
    let speed = model.attribute_by_name(boat.handle, "Speed").unwrap();
    let speed = model.attribute(speed).unwrap();
    assert_eq!(speed.transportation, Transportation::BestEffort);
    let lane = model.dimension(speed.dimensions[0]).unwrap();
    assert_eq!((lane.upper_bound, lane.default_range), (8, Some((0, 2))));
    assert!(model.switches().auto_provide);
    let of = |model: &ObjectModel| {
        let federate = model
            .object_class_by_name("HLAmanager.HLAfederate")
            .unwrap();
        federate.attributes.clone()
    };
    assert_eq!(of(&model), of(standard_model()));
    let report = model
        .interaction_class_by_name("HLAmanager.HLAoldReport")
        .unwrap();
    let dimension = model.dimension(report.dimensions[0]).unwrap();
    assert_eq!(dimension.name, "HLAfederate");
}

#[test]
fn prefixes_are_of_no_interest() {
    let text = "<x:objectModel><x:objects><y:objectClass><name>HLAobjectRoot</name>
        <objectClass z:name='Boat'/></y:objectClass></x:objects></x:objectModel>";
    let module = parse("m.xml", text.as_bytes()).unwrap();
    let mut model = standard_model().clone();
    model.merge(&[module], Check::Strict).unwrap();
    assert!(model.object_class_by_name("Boat").is_some());
}

#[test]
fn a_row_of_2000_conflicts_where_its_xml_attributes_differ() {
    let module = |value: u8| {
        let text = format!(
            r#"<objectModel DTDversion="1516.2" name="M{value}"><dataTypes><enumeratedDataTypes>
            <enumeratedData name="Side" representation="HLAinteger32BE">
            <enumerator name="Left" values="0"/><enumerator name="Right" values="{value}"/>
            </enumeratedData></enumeratedDataTypes></dataTypes></objectModel>"#
        );
        parse(&format!("m{value}.xml"), text.as_bytes()).unwrap_or_else(|e| panic!("{e}"))
    };
    let merged = |modules: [Module; 2]| {
        let merged = standard_model().clone().merge(&modules, Check::Lenient);
        merged.map_err(|e| e.to_string())
    };
    assert_eq!(merged([module(1), module(1)]).map(|w| w.len()), Ok(0));
    let conflict = merged([module(1), module(2)]).unwrap_err();
    assert!(conflict.contains("Right"), "{conflict}");
}

/// A misspelt element is lost, and its author is told; the rest of the module holds.
#[test]
fn what_the_omt_does_not_know_is_told_with_its_line() {
    let text = "<objectModel xmlns='urn:omt'><objects><objectClass><name>HLAobjectRoot</name>
        <objectClass><name>Boat</name><sharing>Everybody</sharing>
        <attribute><name>Speed</name><order/></attribute>
        <atribute><name>Fuel</name></atribute>
        </objectClass></objectClass></objects></objectModel>";
    let module = parse("m.xml", text.as_bytes()).unwrap();
    let mut model = standard_model().clone();
    let told = model.merge(&[module], Check::Lenient).unwrap();
    let mut told: Vec<_> = told.iter().map(|w| (w.at().line, w.code())).collect();
    told.sort_by_key(|(line, _)| *line);
    let expected = [
        (2, Code::UnknownValue),
        (3, Code::UnknownValue),
        (4, Code::Unknown),
    ];
    assert_eq!(told, expected);
    let boat = model.object_class_by_name("Boat").unwrap();
    assert!(model.attribute_by_name(boat.handle, "Speed").is_some());
    assert!(model.attribute_by_name(boat.handle, "Fuel").is_none());
}

/// Tables may hold extensions too: they are no rows, and make no two definitions differ.
#[test]
fn elements_of_other_namespaces_say_nothing() {
    let module = |extension: &str| {
        let text = format!(
            "<o:objectModel xmlns:o='urn:omt' xmlns:x='urn:tool'><o:objects><x:colour/>
            <o:objectClass x:id='1'><o:name>HLAobjectRoot</o:name>
            <colour xmlns='urn:tool'><name>Red</name></colour>
            <o:objectClass><o:name>Boat</o:name><x:atribute/><y:undeclared/>
            <o:attribute><o:name>Speed</o:name><x:datatype>Red</x:datatype></o:attribute>
            </o:objectClass></o:objectClass></o:objects>
            <o:dimensions>{extension}<o:dimension><o:name>Lane</o:name>{extension}</o:dimension>
            </o:dimensions><x:dimension/></o:objectModel>"
        );
        parse("m.xml", text.as_bytes()).unwrap()
    };
    let mut model = standard_model().clone();
    for extension in ["", "<x:colour>Red</x:colour>"] {
        let merged = model.merge(&[module(extension)], Check::Strict);
        merged.unwrap_or_else(|e| panic!("{e}"));
    }
    assert!(model.dimension_by_name("Lane").is_some());
}

/// A prefix means what it was last declared to, and what it meant before when that element ends.
#[test]
fn a_namespace_counts_where_it_is_declared() {
    let text = "<objectModel xmlns='urn:omt'><objects xmlns:x='urn:omt'>
        <a xmlns='urn:tool'/>
        <b/>
        <x:c/>
        <x:d xmlns:x='urn:tool'/>
        <x:e/>
        </objects></objectModel>";
    let module = parse("m.xml", text.as_bytes()).unwrap();
    let (_, problems) = standard_model().try_merge(&[module]);
    let lines: Vec<_> = problems.warnings.iter().map(|w| w.at().line).collect();
    assert_eq!(lines, [3, 4, 6]);
}

#[test]
fn fields_of_all_editions_are_known() {
    let text = "<objectModel xmlns='http://standards.ieee.org/IEEE1516-2025'><objects>
        <objectClass idtag='a'><name>HLAobjectRoot</name><objectClass><name>Boat</name>
        <dimensions><dimension>HLAfederate</dimension></dimensions>
        <directedInteraction><name>HLAinteractionRoot</name><sharing>Publish</sharing>
        </directedInteraction><attribute nameNotes='n1' noteReferences='n2'><name>Speed</name>
        <valueRequired>true</valueRequired><ownership>NA</ownership></attribute></objectClass>
        </objectClass></objects><switches><nonRegulatedGrant isEnabled='true'/>
        <conveyProducingFederate noteReferences='n2' isEnabled='true'/></switches></objectModel>";
    let module = parse("m.xml", text.as_bytes()).unwrap();
    let mut model = standard_model().clone();
    model
        .merge(&[module], Check::Strict)
        .unwrap_or_else(|e| panic!("{e}"));
    assert!(model.switches().convey_producing_federate);
}
