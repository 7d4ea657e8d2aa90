//! A MIM and a FOM small enough to build thousands of times a second.

use starling_core::message::ModuleSource;

const MIM: &str = r#"<objectModel><objects><objectClass><name>HLAobjectRoot</name>
<attribute><name>HLAprivilegeToDeleteObject</name></attribute></objectClass></objects>
<interactions><interactionClass><name>HLAinteractionRoot</name></interactionClass></interactions>
</objectModel>"#;

const FOM: &str = r#"<objectModel><objects><objectClass><name>HLAobjectRoot</name>
<objectClass><name>A</name>
 <attribute><name>a1</name></attribute><attribute><name>a2</name></attribute>
 <objectClass><name>B</name><attribute><name>b1</name></attribute></objectClass>
 <objectClass><name>C</name><attribute><name>c1</name></attribute></objectClass>
</objectClass></objectClass></objects>
<interactions><interactionClass><name>HLAinteractionRoot</name>
<interactionClass><name>I</name><parameter><name>i1</name></parameter>
 <interactionClass><name>J</name><parameter><name>j1</name></parameter></interactionClass>
</interactionClass></interactionClass></interactions>
<switches><attributeScopeAdvisory isEnabled="true"/><attributeRelevanceAdvisory isEnabled="true"/>
<objectClassRelevanceAdvisory isEnabled="true"/>
<interactionRelevanceAdvisory isEnabled="true"/>
<conveyProducingFederate isEnabled="true"/></switches></objectModel>"#;

/// Brings a class of its own, and attributes for B's superclass's other subclass.
const LATE: &str = r#"<objectModel><objects><objectClass><name>HLAobjectRoot</name>
<objectClass><name>A</name><objectClass><name>D</name>
<attribute><name>d1</name></attribute></objectClass></objectClass></objectClass></objects>
<interactions><interactionClass><name>HLAinteractionRoot</name>
<interactionClass><name>K</name><parameter><name>k1</name></parameter></interactionClass>
</interactionClass></interactions></objectModel>"#;

/// Attributes and interactions with one to three dimensions, or none; F is available for subclasses
/// only.
const REGIONS: &str = r#"<objectModel><objects><objectClass><name>HLAobjectRoot</name>
<objectClass><name>A</name>
 <attribute><name>a1</name><dimensions><dimension>D</dimension><dimension>E</dimension></dimensions></attribute>
 <attribute><name>a2</name><dimensions><dimension>D</dimension></dimensions></attribute>
 <attribute><name>a3</name></attribute>
 <objectClass><name>B</name>
 <attribute><name>b1</name><dimensions><dimension>D</dimension><dimension>E</dimension><dimension>F</dimension></dimensions></attribute>
 </objectClass></objectClass></objectClass></objects>
<interactions><interactionClass><name>HLAinteractionRoot</name>
<interactionClass><name>I</name><dimensions><dimension>D</dimension><dimension>E</dimension></dimensions>
 <parameter><name>i1</name></parameter>
 <interactionClass><name>J</name><dimensions><dimension>D</dimension><dimension>E</dimension><dimension>F</dimension></dimensions>
 <parameter><name>j1</name></parameter></interactionClass>
</interactionClass></interactionClass></interactions>
<dimensions><dimension><name>D</name><upperBound>16</upperBound><value>[2..9)</value></dimension>
<dimension><name>E</name><upperBound>16</upperBound><value>Excluded</value></dimension>
<dimension><name>F</name><upperBound>16</upperBound><value>[4)</value></dimension></dimensions>
<switches><conveyProducingFederate isEnabled="true"/><conveyRegionDesignatorSets isEnabled="true"/>
<attributeScopeAdvisory isEnabled="true"/></switches></objectModel>"#;

/// Time-stamp order and receive order, reliable and best effort, with dimensions and without, and an
/// update rate.
const TIMED: &str = r#"<objectModel><objects><objectClass><name>HLAobjectRoot</name>
<objectClass><name>A</name>
 <attribute><name>a1</name><dimensions><dimension>D</dimension><dimension>E</dimension></dimensions><transportation>HLAreliable</transportation><order>TimeStamp</order></attribute>
 <attribute><name>a2</name><dimensions><dimension>D</dimension></dimensions><transportation>HLAbestEffort</transportation><order>TimeStamp</order></attribute>
 <attribute><name>a3</name><transportation>HLAreliable</transportation><order>Receive</order></attribute>
 <objectClass><name>B</name>
 <attribute><name>b1</name><transportation>HLAreliable</transportation><order>TimeStamp</order></attribute>
 </objectClass></objectClass></objectClass></objects>
<interactions><interactionClass><name>HLAinteractionRoot</name>
<interactionClass><name>I</name><dimensions><dimension>D</dimension></dimensions><transportation>HLAreliable</transportation><order>TimeStamp</order>
 <parameter><name>i1</name></parameter>
 <interactionClass><name>J</name><dimensions><dimension>D</dimension></dimensions><transportation>HLAbestEffort</transportation><order>Receive</order>
 <parameter><name>j1</name></parameter></interactionClass>
</interactionClass></interactionClass></interactions>
<dimensions><dimension><name>D</name><upperBound>16</upperBound><value>[2..9)</value></dimension>
<dimension><name>E</name><upperBound>16</upperBound><value>Excluded</value></dimension>
<dimension><name>F</name><upperBound>16</upperBound><value>[4)</value></dimension></dimensions>
<updateRates><updateRate><name>slow</name><rate>1</rate></updateRate></updateRates>
<switches><conveyProducingFederate isEnabled="true"/></switches></objectModel>"#;

/// The MIM with a deletion in time-stamp order, as the standard's is.
const TIMED_MIM: &str = r#"<objectModel><objects><objectClass><name>HLAobjectRoot</name>
<attribute><name>HLAprivilegeToDeleteObject</name><order>TimeStamp</order></attribute></objectClass></objects>
<interactions><interactionClass><name>HLAinteractionRoot</name></interactionClass></interactions>
</objectModel>"#;

/// The same with a part of the management object model: whatever the RTI tells by itself, what makes it tell, and
/// what it reports.
const MANAGED_MIM: &str = r#"<objectModel><objects><objectClass><name>HLAobjectRoot</name>
<attribute><name>HLAprivilegeToDeleteObject</name><order>TimeStamp</order></attribute>
<objectClass><name>HLAmanager</name>
<objectClass><name>HLAfederate</name>
<attribute><name>HLAfederateHandle</name></attribute><attribute><name>HLAupdatesSent</name></attribute>
<attribute><name>HLAfederateState</name></attribute><attribute><name>HLAtimeManagerState</name></attribute>
<attribute><name>HLAtimeRegulating</name></attribute><attribute><name>HLAtimeConstrained</name></attribute>
<attribute><name>HLAasynchronousDelivery</name></attribute><attribute><name>HLAconveyProducingFederate</name></attribute>
<attribute><name>HLAlogicalTime</name></attribute><attribute><name>HLAGALT</name></attribute>
<attribute><name>HLATSOlength</name></attribute><attribute><name>HLAobjectInstancesDiscovered</name></attribute>
</objectClass>
<objectClass><name>HLAfederation</name>
<attribute><name>HLAfederatesInFederation</name></attribute><attribute><name>HLAautoProvide</name></attribute>
<attribute><name>HLAlastSaveName</name></attribute><attribute><name>HLAnextSaveName</name></attribute>
</objectClass>
</objectClass></objectClass></objects>
<interactions><interactionClass><name>HLAinteractionRoot</name>
<interactionClass><name>HLAmanager</name><interactionClass><name>HLAfederate</name>
 <parameter><name>HLAfederate</name></parameter>
 <interactionClass><name>HLAadjust</name>
  <interactionClass><name>HLAsetTiming</name><parameter><name>HLAreportPeriod</name></parameter></interactionClass>
  <interactionClass><name>HLAsetSwitches</name><parameter><name>HLAconveyProducingFederate</name></parameter></interactionClass>
  <interactionClass><name>HLAsetServiceReporting</name><parameter><name>HLAreportingState</name></parameter></interactionClass>
  <interactionClass><name>HLAsetExceptionReporting</name><parameter><name>HLAreportingState</name></parameter></interactionClass>
 </interactionClass>
 <interactionClass><name>HLArequest</name>
  <interactionClass><name>HLArequestUpdatesSent</name></interactionClass>
 </interactionClass>
 <interactionClass><name>HLAreport</name>
  <interactionClass><name>HLAreportUpdatesSent</name>
   <parameter><name>HLAtransportation</name></parameter><parameter><name>HLAupdateCounts</name></parameter>
  </interactionClass>
  <interactionClass><name>HLAreportServiceInvocation</name>
   <parameter><name>HLAservice</name></parameter><parameter><name>HLAserialNumber</name></parameter>
   <parameter><name>HLAsuccessIndicator</name></parameter><parameter><name>HLAexception</name></parameter>
   <parameter><name>HLAsuppliedArguments</name></parameter><parameter><name>HLAreturnedArguments</name></parameter>
  </interactionClass>
  <interactionClass><name>HLAreportException</name>
   <parameter><name>HLAservice</name></parameter><parameter><name>HLAexception</name></parameter>
  </interactionClass>
  <interactionClass><name>HLAreportMOMexception</name>
   <parameter><name>HLAservice</name></parameter><parameter><name>HLAexception</name></parameter>
   <parameter><name>HLAparameterError</name></parameter>
  </interactionClass>
  <interactionClass><name>HLAreportFederateLost</name><parameter><name>HLAfederateName</name></parameter>
   <parameter><name>HLAtimeStamp</name></parameter><parameter><name>HLAfaultDescription</name></parameter>
  </interactionClass>
 </interactionClass>
</interactionClass>
<interactionClass><name>HLAfederation</name>
 <interactionClass><name>HLAadjust</name>
  <interactionClass><name>HLAsetSwitches</name><parameter><name>HLAautoProvide</name></parameter></interactionClass>
 </interactionClass>
</interactionClass></interactionClass></interactionClass></interactions></objectModel>"#;

/// The FOM with some of it sent by best effort.
fn lossy() -> String {
    let best_effort = "<transportation>HLAbestEffort</transportation>";
    let text = FOM.replace("<name>a2</name>", &format!("<name>a2</name>{best_effort}"));
    text.replace("<name>J</name>", &format!("<name>J</name>{best_effort}"))
}

pub(crate) fn source(designator: &str) -> ModuleSource {
    if designator == "lossy fom" {
        return ModuleSource {
            designator: designator.to_owned(),
            text: lossy().into_bytes().into(),
        };
    }
    if designator == "timed and delayed" {
        let on = "<switches><delaySubscriptionEvaluation isEnabled=\"true\"/>";
        return ModuleSource {
            designator: designator.to_owned(),
            text: TIMED.replace("<switches>", on).into_bytes().into(),
        };
    }
    let text = match designator {
        "mim" => MIM,
        "fom" => FOM,
        "late" => LATE,
        "regions" => REGIONS,
        "timed" => TIMED,
        "timed mim" => TIMED_MIM,
        "managed mim" => MANAGED_MIM,
        other => unreachable!("there is no module {other}"),
    };
    ModuleSource {
        designator: designator.to_owned(),
        text: text.as_bytes().into(),
    }
}

/// Object classes by name; D is there once a joiner has brought it.
pub(crate) const CLASSES: [&str; 4] = ["A", "A.B", "A.C", "A.D"];
/// Interaction classes by name; K is there once a joiner has brought it.
pub(crate) const INTERACTIONS: [&str; 3] = ["I", "I.J", "K"];
