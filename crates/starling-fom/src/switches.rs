//! The switches table (1516.2-2010 §4.10).

use crate::{Code, FomError, Place};

/// What becomes of a federate that is lost (§4.1.1 automatic resign directive).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AutomaticResignAction {
    UnconditionallyDivestAttributes,
    DeleteObjects,
    CancelPendingOwnershipAcquisitions,
    DeleteObjectsThenDivest,
    CancelThenDeleteThenDivest,
    NoAction,
}

/// The switches with their values, or the standard's defaults where no module sets them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Switches {
    pub auto_provide: bool,
    pub convey_region_designator_sets: bool,
    pub convey_producing_federate: bool,
    pub attribute_scope_advisory: bool,
    pub attribute_relevance_advisory: bool,
    pub object_class_relevance_advisory: bool,
    pub interaction_relevance_advisory: bool,
    pub service_reporting: bool,
    pub exception_reporting: bool,
    pub delay_subscription_evaluation: bool,
    pub automatic_resign_action: AutomaticResignAction,
}

impl Default for Switches {
    fn default() -> Self {
        Switches {
            auto_provide: false,
            convey_region_designator_sets: false,
            convey_producing_federate: false,
            attribute_scope_advisory: false,
            attribute_relevance_advisory: false,
            object_class_relevance_advisory: false,
            interaction_relevance_advisory: false,
            service_reporting: false,
            exception_reporting: false,
            delay_subscription_evaluation: false,
            automatic_resign_action: AutomaticResignAction::CancelThenDeleteThenDivest,
        }
    }
}

impl Switches {
    /// Element names and values, as a FOM module has them.
    pub fn values(&self) -> Vec<(&'static str, String)> {
        let mut values: Vec<_> = [
            ("autoProvide", self.auto_provide),
            (
                "conveyRegionDesignatorSets",
                self.convey_region_designator_sets,
            ),
            ("conveyProducingFederate", self.convey_producing_federate),
            ("attributeScopeAdvisory", self.attribute_scope_advisory),
            (
                "attributeRelevanceAdvisory",
                self.attribute_relevance_advisory,
            ),
            (
                "objectClassRelevanceAdvisory",
                self.object_class_relevance_advisory,
            ),
            (
                "interactionRelevanceAdvisory",
                self.interaction_relevance_advisory,
            ),
            ("serviceReporting", self.service_reporting),
            ("exceptionReporting", self.exception_reporting),
            (
                "delaySubscriptionEvaluation",
                self.delay_subscription_evaluation,
            ),
        ]
        .map(|(name, on)| (name, on.to_string()))
        .into();
        let action = format!("{:?}", self.automatic_resign_action);
        values.push(("automaticResignAction", action));
        values
    }

    /// Sets one by its element's name; elements that 2010 does not know are passed over.
    pub(crate) fn set(&mut self, name: &str, value: &str, at: &Place) -> Result<(), FomError> {
        if name.eq_ignore_ascii_case("automaticResignAction") {
            self.automatic_resign_action = resign_action(value).ok_or_else(|| {
                let what = format!("automaticResignAction is '{value}', which is no resign action");
                FomError::new(Code::BadSwitch, at.clone(), what)
            })?;
            return Ok(());
        }
        let switch = match name {
            "autoProvide" => &mut self.auto_provide,
            "conveyRegionDesignatorSets" => &mut self.convey_region_designator_sets,
            "conveyProducingFederate" => &mut self.convey_producing_federate,
            "attributeScopeAdvisory" => &mut self.attribute_scope_advisory,
            "attributeRelevanceAdvisory" => &mut self.attribute_relevance_advisory,
            "objectClassRelevanceAdvisory" => &mut self.object_class_relevance_advisory,
            "interactionRelevanceAdvisory" => &mut self.interaction_relevance_advisory,
            "serviceReporting" => &mut self.service_reporting,
            "exceptionReporting" => &mut self.exception_reporting,
            "delaySubscriptionEvaluation" => &mut self.delay_subscription_evaluation,
            _ => return Ok(()),
        };
        *switch = match value.to_ascii_lowercase().as_str() {
            "true" | "1" | "enabled" => true,
            "false" | "0" | "disabled" => false,
            _ => {
                let what = format!("switch {name} is '{value}'; it is true or false");
                return Err(FomError::new(Code::BadSwitch, at.clone(), what));
            }
        };
        Ok(())
    }
}

fn resign_action(value: &str) -> Option<AutomaticResignAction> {
    use AutomaticResignAction::*;
    Some(match value {
        "UnconditionallyDivestAttributes" => UnconditionallyDivestAttributes,
        "DeleteObjects" => DeleteObjects,
        "CancelPendingOwnershipAcquisitions" => CancelPendingOwnershipAcquisitions,
        "DeleteObjectsThenDivest" => DeleteObjectsThenDivest,
        "CancelThenDeleteThenDivest" => CancelThenDeleteThenDivest,
        "NoAction" => NoAction,
        _ => return None,
    })
}
