//! The services of a joined federate that need no answer of the executive, once for all who
//! offer them: [`Lrc`](crate::Lrc) here, the RTI ambassador in the federate library.

/// Hands the list of services to the macro `$with`, one service in each row: its documentation,
/// what it is in [`Service`](crate::Service), method, arguments and result.
#[macro_export]
#[doc(hidden)]
macro_rules! services {
    ($with:ident) => {
        $with! {
            /// Get Automatic Resign Directive, §10.2.
            GetAutomaticResignDirective automatic_resign_directive() -> $crate::message::ResignAction;
            /// Set Automatic Resign Directive, §10.3.
            SetAutomaticResignDirective set_automatic_resign_directive(action: $crate::message::ResignAction) -> ();
            /// Register Federation Synchronization Point, §4.11. An empty set is all federates, also
            /// those who join until it is achieved.
            RegisterFederationSynchronizationPoint register_federation_synchronization_point(label: &str, tag: &[u8], set: &[$crate::FederateHandle]) -> ();
            /// Synchronization Point Achieved, §4.14.
            SynchronizationPointAchieved synchronization_point_achieved(label: &str, successfully: bool) -> ();
            /// Publish Object Class Attributes, 1516.1-2010 §5.2: adds to what is published.
            PublishObjectClassAttributes publish_object_class_attributes(class: $crate::ObjectClassHandle, attributes: &[$crate::AttributeHandle]) -> ();
            /// Unpublish Object Class, §5.3.
            UnpublishObjectClass unpublish_object_class(class: $crate::ObjectClassHandle) -> ();
            /// Unpublish Object Class Attributes, §5.3.
            UnpublishObjectClassAttributes unpublish_object_class_attributes(class: $crate::ObjectClassHandle, attributes: &[$crate::AttributeHandle]) -> ();
            /// Publish Interaction Class, §5.4.
            PublishInteractionClass publish_interaction_class(class: $crate::InteractionClassHandle) -> ();
            /// Unpublish Interaction Class, §5.5.
            UnpublishInteractionClass unpublish_interaction_class(class: $crate::InteractionClassHandle) -> ();
            /// Subscribe Object Class Attributes, §5.6: adds to what is subscribed; for attributes that
            /// are subscribed already, `active` and `rate` replace the former ones.
            SubscribeObjectClassAttributes subscribe_object_class_attributes(class: $crate::ObjectClassHandle, attributes: &[$crate::AttributeHandle], active: bool, rate: &str) -> ();
            /// Unsubscribe Object Class, §5.7.
            UnsubscribeObjectClass unsubscribe_object_class(class: $crate::ObjectClassHandle) -> ();
            /// Unsubscribe Object Class Attributes, §5.7.
            UnsubscribeObjectClassAttributes unsubscribe_object_class_attributes(class: $crate::ObjectClassHandle, attributes: &[$crate::AttributeHandle]) -> ();
            /// Subscribe Interaction Class, §5.8.
            SubscribeInteractionClass subscribe_interaction_class(class: $crate::InteractionClassHandle, active: bool) -> ();
            /// Unsubscribe Interaction Class, §5.9.
            UnsubscribeInteractionClass unsubscribe_interaction_class(class: $crate::InteractionClassHandle) -> ();
            /// Reserve Object Instance Name, 1516.1-2010 §6.2.
            ReserveObjectInstanceName reserve_object_instance_name(name: &str) -> ();
            /// Release Object Instance Name, §6.4.
            ReleaseObjectInstanceName release_object_instance_name(name: &str) -> ();
            /// Reserve Multiple Object Instance Name, §6.5: all of them or none.
            ReserveMultipleObjectInstanceName reserve_multiple_object_instance_name(names: &[&str]) -> ();
            /// Release Multiple Object Instance Name, §6.7: all of them or none.
            ReleaseMultipleObjectInstanceName release_multiple_object_instance_name(names: &[&str]) -> ();
            /// Register Object Instance, §6.8. Needs no answer of the executive.
            RegisterObjectInstance register_object_instance(class: $crate::ObjectClassHandle, name: Option<&str>) -> $crate::ObjectInstanceHandle;
            /// Delete Object Instance, §6.14.
            DeleteObjectInstance delete_object_instance(instance: $crate::ObjectInstanceHandle, tag: &[u8]) -> ();
            /// Local Delete Object Instance, §6.16.
            LocalDeleteObjectInstance local_delete_object_instance(instance: $crate::ObjectInstanceHandle) -> ();
            /// Request Attribute Value Update of an instance, §6.19.
            RequestAttributeValueUpdate request_instance_attribute_value_update(instance: $crate::ObjectInstanceHandle, attributes: &[$crate::AttributeHandle], tag: &[u8]) -> ();
            /// Request Attribute Value Update of a class, §6.19.
            RequestAttributeValueUpdate request_class_attribute_value_update(class: $crate::ObjectClassHandle, attributes: &[$crate::AttributeHandle], tag: &[u8]) -> ();
            /// Request Attribute Transportation Type Change, §6.23.
            RequestAttributeTransportationTypeChange request_attribute_transportation_type_change(instance: $crate::ObjectInstanceHandle, attributes: &[$crate::AttributeHandle], transportation: $crate::Transportation) -> ();
            /// Query Attribute Transportation Type, §6.25; the answer is a callback.
            QueryAttributeTransportationType query_attribute_transportation_type(instance: $crate::ObjectInstanceHandle, attribute: $crate::AttributeHandle) -> ();
            /// Request Interaction Transportation Type Change, §6.27.
            RequestInteractionTransportationTypeChange request_interaction_transportation_type_change(class: $crate::InteractionClassHandle, transportation: $crate::Transportation) -> ();
            /// Query Interaction Transportation Type, §6.29; the answer is a callback.
            QueryInteractionTransportationType query_interaction_transportation_type(federate: $crate::FederateHandle, class: $crate::InteractionClassHandle) -> ();
            /// Unconditional Attribute Ownership Divestiture, 1516.1-2010 §7.2.
            UnconditionalAttributeOwnershipDivestiture unconditional_attribute_ownership_divestiture(instance: $crate::ObjectInstanceHandle, attributes: &[$crate::AttributeHandle], tag: &[u8]) -> ();
            /// Negotiated Attribute Ownership Divestiture, §7.3.
            NegotiatedAttributeOwnershipDivestiture negotiated_attribute_ownership_divestiture(instance: $crate::ObjectInstanceHandle, attributes: &[$crate::AttributeHandle], tag: &[u8]) -> ();
            /// Attribute Ownership Acquisition, §7.8.
            AttributeOwnershipAcquisition attribute_ownership_acquisition(instance: $crate::ObjectInstanceHandle, attributes: &[$crate::AttributeHandle], tag: &[u8]) -> ();
            /// Attribute Ownership Acquisition If Available, §7.9.
            AttributeOwnershipAcquisitionIfAvailable attribute_ownership_acquisition_if_available(instance: $crate::ObjectInstanceHandle, attributes: &[$crate::AttributeHandle], tag: &[u8]) -> ();
            /// Attribute Ownership Release Denied, §7.12.
            AttributeOwnershipReleaseDenied attribute_ownership_release_denied(instance: $crate::ObjectInstanceHandle, attributes: &[$crate::AttributeHandle], tag: &[u8]) -> ();
            /// Cancel Negotiated Attribute Ownership Divestiture, §7.14.
            CancelNegotiatedAttributeOwnershipDivestiture cancel_negotiated_attribute_ownership_divestiture(instance: $crate::ObjectInstanceHandle, attributes: &[$crate::AttributeHandle]) -> ();
            /// Cancel Attribute Ownership Acquisition, §7.15.
            CancelAttributeOwnershipAcquisition cancel_attribute_ownership_acquisition(instance: $crate::ObjectInstanceHandle, attributes: &[$crate::AttributeHandle]) -> ();
            /// Query Attribute Ownership, §7.17.
            QueryAttributeOwnership query_attribute_ownership(instance: $crate::ObjectInstanceHandle, attributes: &[$crate::AttributeHandle]) -> ();
            /// Is Attribute Owned By Federate, §7.19.
            IsAttributeOwnedByFederate is_attribute_owned_by_federate(instance: $crate::ObjectInstanceHandle, attribute: $crate::AttributeHandle) -> bool;
            /// Create Region, 1516.1-2010 §9.2: a template whose ranges are the default ones until they
            /// are set.
            CreateRegion create_region(dimensions: &[$crate::DimensionHandle]) -> $crate::RegionHandle;
            /// Commit Region Modifications, §9.3: all or none.
            CommitRegionModifications commit_region_modifications(regions: &[$crate::RegionHandle]) -> ();
            /// Delete Region, §9.4.
            DeleteRegion delete_region(region: $crate::RegionHandle) -> ();
            /// Get Dimension Handle Set, §10.28.
            GetDimensionHandleSet dimension_handle_set(region: $crate::RegionHandle) -> Vec<$crate::DimensionHandle>;
            /// Get Range Bounds, §10.29: of a region of one's own as set last, of a conveyed one as sent.
            GetRangeBounds range_bounds(region: $crate::RegionHandle, dimension: $crate::DimensionHandle) -> (u32, u32);
            /// Set Range Bounds, §10.30: pending until the region is committed.
            SetRangeBounds set_range_bounds(region: $crate::RegionHandle, dimension: $crate::DimensionHandle, lower: u64, upper: u64) -> ();
            /// Register Object Instance With Regions, §9.5.
            RegisterObjectInstanceWithRegions register_object_instance_with_regions(class: $crate::ObjectClassHandle, regions: &[$crate::message::AttributeRegions], name: Option<&str>) -> $crate::ObjectInstanceHandle;
            /// Associate Regions For Updates, §9.6: adds to what is associated. The federate need not own
            /// the attributes; the association is in effect while it does.
            AssociateRegionsForUpdates associate_regions_for_updates(instance: $crate::ObjectInstanceHandle, regions: &[$crate::message::AttributeRegions]) -> ();
            /// Unassociate Regions For Updates, §9.7: what has no region left is updated with the default
            /// region.
            UnassociateRegionsForUpdates unassociate_regions_for_updates(instance: $crate::ObjectInstanceHandle, regions: &[$crate::message::AttributeRegions]) -> ();
            /// Subscribe Object Class Attributes With Regions, §9.8: adds to what is subscribed; where an
            /// attribute is subscribed with a region already, `active` and `rate` replace the former ones.
            SubscribeObjectClassAttributesWithRegions subscribe_object_class_attributes_with_regions(class: $crate::ObjectClassHandle, regions: &[$crate::message::AttributeRegions], active: bool, rate: &str) -> ();
            /// Unsubscribe Object Class Attributes With Regions, §9.9.
            UnsubscribeObjectClassAttributesWithRegions unsubscribe_object_class_attributes_with_regions(class: $crate::ObjectClassHandle, regions: &[$crate::message::AttributeRegions]) -> ();
            /// Subscribe Interaction Class With Regions, §9.10: adds to what is subscribed.
            SubscribeInteractionClassWithRegions subscribe_interaction_class_with_regions(class: $crate::InteractionClassHandle, regions: &[$crate::RegionHandle], active: bool) -> ();
            /// Unsubscribe Interaction Class With Regions, §9.11.
            UnsubscribeInteractionClassWithRegions unsubscribe_interaction_class_with_regions(class: $crate::InteractionClassHandle, regions: &[$crate::RegionHandle]) -> ();
            /// Request Attribute Value Update With Regions, §9.13.
            RequestAttributeValueUpdateWithRegions request_attribute_value_update_with_regions(class: $crate::ObjectClassHandle, regions: &[$crate::message::AttributeRegions], tag: &[u8]) -> ();
            /// Get Federate Handle, 1516.1-2010 §10.4.
            GetFederateHandle federate_handle(name: &str) -> $crate::FederateHandle;
            /// Get Federate Name, §10.5.
            GetFederateName federate_name(handle: $crate::FederateHandle) -> String;
            /// Get Object Class Handle, §10.6. With or without `HLAobjectRoot.`.
            GetObjectClassHandle object_class_handle(name: &str) -> $crate::ObjectClassHandle;
            /// Get Object Class Name, §10.7.
            GetObjectClassName object_class_name(handle: $crate::ObjectClassHandle) -> String;
            /// Get Known Object Class Handle, §10.8.
            GetKnownObjectClassHandle known_object_class_handle(instance: $crate::ObjectInstanceHandle) -> $crate::ObjectClassHandle;
            /// Get Object Instance Handle, §10.9.
            GetObjectInstanceHandle object_instance_handle(name: &str) -> $crate::ObjectInstanceHandle;
            /// Get Object Instance Name, §10.10.
            GetObjectInstanceName object_instance_name(instance: $crate::ObjectInstanceHandle) -> String;
            /// Get Attribute Handle, §10.11.
            GetAttributeHandle attribute_handle(class: $crate::ObjectClassHandle, name: &str) -> $crate::AttributeHandle;
            /// Get Attribute Name, §10.12.
            GetAttributeName attribute_name(class: $crate::ObjectClassHandle, attribute: $crate::AttributeHandle) -> String;
            /// Get Update Rate Value, §10.13, in updates per second.
            GetUpdateRateValue update_rate_value(designator: &str) -> f64;
            /// Get Update Rate Value for Attribute, §10.14: what this federate subscribed with, 0 for no
            /// reduction.
            GetUpdateRateValueForAttribute update_rate_value_for_attribute(instance: $crate::ObjectInstanceHandle, attribute: $crate::AttributeHandle) -> f64;
            /// Get Interaction Class Handle, §10.15. With or without `HLAinteractionRoot.`.
            GetInteractionClassHandle interaction_class_handle(name: &str) -> $crate::InteractionClassHandle;
            /// Get Interaction Class Name, §10.16.
            GetInteractionClassName interaction_class_name(handle: $crate::InteractionClassHandle) -> String;
            /// Get Parameter Handle, §10.17.
            GetParameterHandle parameter_handle(class: $crate::InteractionClassHandle, name: &str) -> $crate::ParameterHandle;
            /// Get Parameter Name, §10.18.
            GetParameterName parameter_name(class: $crate::InteractionClassHandle, parameter: $crate::ParameterHandle) -> String;
            /// Get Available Dimensions for Class Attribute, §10.23.
            GetAvailableDimensionsForClassAttribute available_dimensions_for_class_attribute(class: $crate::ObjectClassHandle, attribute: $crate::AttributeHandle) -> Vec<$crate::DimensionHandle>;
            /// Get Available Dimensions for Interaction Class, §10.24.
            GetAvailableDimensionsForInteractionClass available_dimensions_for_interaction_class(class: $crate::InteractionClassHandle) -> Vec<$crate::DimensionHandle>;
            /// Get Dimension Handle, §10.25.
            GetDimensionHandle dimension_handle(name: &str) -> $crate::DimensionHandle;
            /// Get Dimension Name, §10.26.
            GetDimensionName dimension_name(handle: $crate::DimensionHandle) -> String;
            /// Get Dimension Upper Bound, §10.27: ranges lie in [0, bound).
            GetDimensionUpperBound dimension_upper_bound(handle: $crate::DimensionHandle) -> u64;
            /// Enable Object Class Relevance Advisory Switch, §10.33: what has changed meanwhile is told.
            EnableObjectClassRelevanceAdvisorySwitch enable_object_class_relevance_advisory_switch() -> ();
            /// Disable Object Class Relevance Advisory Switch, §10.34.
            DisableObjectClassRelevanceAdvisorySwitch disable_object_class_relevance_advisory_switch() -> ();
            /// Enable Interaction Relevance Advisory Switch, §10.39: what has changed meanwhile is told.
            EnableInteractionRelevanceAdvisorySwitch enable_interaction_relevance_advisory_switch() -> ();
            /// Disable Interaction Relevance Advisory Switch, §10.40.
            DisableInteractionRelevanceAdvisorySwitch disable_interaction_relevance_advisory_switch() -> ();
            /// Enable Attribute Scope Advisory Switch, §10.37: what is in scope now is told.
            EnableAttributeScopeAdvisorySwitch enable_attribute_scope_advisory_switch() -> ();
            /// Disable Attribute Scope Advisory Switch, §10.38.
            DisableAttributeScopeAdvisorySwitch disable_attribute_scope_advisory_switch() -> ();
            /// Enable Attribute Relevance Advisory Switch, §10.35: what is wanted now is told.
            EnableAttributeRelevanceAdvisorySwitch enable_attribute_relevance_advisory_switch() -> ();
            /// Disable Attribute Relevance Advisory Switch, §10.36.
            DisableAttributeRelevanceAdvisorySwitch disable_attribute_relevance_advisory_switch() -> ();
        }
    };
}
