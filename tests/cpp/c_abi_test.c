/* The C ABI as a program in C sees it: starling.h alone, two federates in one thread. */
#include <starling.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static StarlingText text(char const *characters) {
    StarlingText const text = {(uint8_t const *)characters, strlen(characters)};
    return text;
}

static int is(StarlingText text, char const *expected) {
    return text.size == strlen(expected) && memcmp(text.data, expected, text.size) == 0;
}

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            StarlingText const why = starling_message();                                           \
            fprintf(stderr, "%s:%d: %s\nlast message: %.*s\n", __FILE__, __LINE__, #condition,     \
                    (int)why.size, (char const *)why.data);                                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* What federate B has heard. */
typedef struct Heard {
    uint64_t discovered, removed;
    uint32_t class_, producer;
    int reflected;
} Heard;

static bool discover(void *context, StarlingDiscoverObjectInstance const *event) {
    Heard *heard = context;
    REQUIRE(event->size == sizeof *event);
    REQUIRE(is(event->name, "cola"));
    heard->discovered = event->instance;
    heard->class_ = event->class_;
    return true;
}

static bool reflect(void *context, StarlingReflectAttributeValues const *event) {
    Heard *heard = context;
    REQUIRE(event->size == sizeof *event);
    REQUIRE(event->instance == heard->discovered);
    REQUIRE(event->values_count == 1 && event->values[0].value.size == 3);
    REQUIRE(memcmp(event->values[0].value.data, "\1\0\2", 3) == 0);
    REQUIRE(event->tag.size == 3 && memcmp(event->tag.data, "tag", 3) == 0);
    REQUIRE(event->transportation == 1 || event->transportation == 2);
    heard->producer = event->producer;
    ++heard->reflected;
    /* The federate's fault; the next callback comes all the same. */
    starling_callback_threw(text("FederateInternalError: on purpose"));
    return false;
}

static bool removed(void *context, StarlingRemoveObjectInstance const *event) {
    Heard *heard = context;
    heard->removed = event->instance;
    return true;
}

/* All that the others did before has come: the executive answers in order. */
static void settle(StarlingAmbassador *rti, StarlingText const *fom) {
    REQUIRE(starling_create_federation_execution(rti, text("C"), fom, 1, text("")) != 0);
}

static void evoke(StarlingAmbassador *rti) {
    bool more = true;
    while (more)
        REQUIRE(starling_evoke_callback(rti, 0, &more) == 0);
}

int main(void) {
    StarlingText const fom = text(STARLING_FOM);
    Heard heard = {0};

    /* A wants no callbacks: a table of the first version could not have been smaller. */
    struct {
        size_t size;
        void *context;
        void (*release)(void *);
    } const none = {sizeof none, NULL, NULL};
    StarlingCallbacks table = {0};
    table.size = sizeof table;
    table.context = &heard;
    table.discover_object_instance = discover;
    table.reflect_attribute_values = reflect;
    table.remove_object_instance = removed;
    StarlingAmbassador *const a = starling_new();
    StarlingAmbassador *const b = starling_new();
    StarlingText const settings = text("");
    REQUIRE(starling_connect(a, (StarlingCallbacks const *)&none, 1, settings) == 0);
    REQUIRE(starling_connect(b, &table, 1, settings) == 0);

    uint32_t federate_a = 0, federate_b = 0, class_ = 0, attribute = 0;
    REQUIRE(starling_create_federation_execution(a, text("C"), &fom, 1, text("")) == 0);
    StarlingText const generated = {NULL, 0};
    REQUIRE(starling_join_federation_execution(a, text("A"), text("test"), text("C"), NULL, 0,
                                               &federate_a) == 0);
    REQUIRE(starling_join_federation_execution(b, generated, text("test"), text("C"), NULL, 0,
                                               &federate_b) == 0);
    REQUIRE(federate_a != 0 && federate_b != 0 && federate_a != federate_b);
    REQUIRE(starling_get_object_class_handle(a, text("Food.Drink.Soda"), &class_) == 0);
    REQUIRE(starling_get_attribute_handle(a, class_, text("NumberCups"), &attribute) == 0);
    REQUIRE(starling_get_object_class_handle(a, text("Food.Drink.Sodda"), &class_) != 0);
    REQUIRE(class_ != 0); /* a failure stores nothing */

    REQUIRE(starling_publish_object_class_attributes(a, class_, &attribute, 1) == 0);
    REQUIRE(starling_subscribe_object_class_attributes(b, class_, &attribute, 1, true, text("")) ==
            0);
    settle(b, &fom);
    settle(a, &fom);
    uint64_t instance = 0;
    REQUIRE(starling_reserve_object_instance_name(a, text("cola")) == 0);
    settle(a, &fom);
    evoke(a); /* the reservation's answer, which nobody wants to hear */
    REQUIRE(starling_register_object_instance(a, class_, text("cola"), &instance) == 0);
    StarlingValue const value = {attribute, {(uint8_t const *)"\1\0\2", 3}};
    StarlingBytes const tag = {(uint8_t const *)"tag", 3};
    StarlingBytes const no_tag = {NULL, 0};
    REQUIRE(starling_update_attribute_values(a, instance, &value, 1, tag) == 0);
    REQUIRE(starling_update_attribute_values(a, instance, &value, 1, tag) == 0);
    REQUIRE(starling_delete_object_instance(a, instance, no_tag) == 0);
    settle(a, &fom);
    settle(b, &fom);
    REQUIRE(heard.discovered == 0);
    evoke(b);
    REQUIRE(heard.discovered == instance && heard.class_ == class_);
    REQUIRE(heard.reflected == 2);
    REQUIRE(heard.producer == federate_a || heard.producer == 0);
    REQUIRE(heard.removed == instance);

    /* Results that are texts and lists live until this thread's next call. */
    StarlingText name = {NULL, 0};
    REQUIRE(starling_get_federate_name(b, federate_a, &name) == 0 && is(name, "A"));
    StarlingHandles dimensions = {NULL, 1};
    REQUIRE(starling_get_available_dimensions_for_class_attribute(b, class_, attribute,
                                                                  &dimensions) == 0);
    for (size_t i = 0; i < dimensions.size; ++i)
        REQUIRE(dimensions.data[i] != 0);

    REQUIRE(starling_resign_federation_execution(a, 4) == 0);
    REQUIRE(starling_resign_federation_execution(b, 4) == 0);
    REQUIRE(starling_destroy_federation_execution(a, text("C")) == 0);
    REQUIRE(starling_disconnect(a) == 0);
    REQUIRE(starling_disconnect(b) == 0);
    starling_delete(a);
    starling_delete(b);
    starling_delete(NULL);
    return 0;
}
