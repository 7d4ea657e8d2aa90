/* An instrument among others of an exercise: it declares one record, which goes out at a rate, and
 * reads the newest of others'. Nothing else needs to be known of what carries them.
 *
 * A record is bytes of the instrument's own layout; all instruments that use its name share it.
 * Every instrument has a station's number of its own, from 1 to 10. Of two with one number the
 * one that declared its record later stops. Functions may be called from any one thread at a time;
 * none of them waits for others but `open` and `close`. Those that return int return 0 for success
 * (`read`: see there) and -1 for failure, of which `error` tells.
 */
#ifndef STARLING_INSTRUMENT_H
#define STARLING_INSTRUMENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define STARLING_INSTRUMENT_API __attribute__((visibility("default")))
#else
#define STARLING_INSTRUMENT_API
#endif

typedef struct starling_instrument starling_instrument;

/* What is known of a record that was read. */
typedef struct starling_news {
    uint64_t sent_ns;    /* when it was sent, by the sender's clock (CLOCK_MONOTONIC) */
    int64_t delivery_ns; /* how long it took, where both have one clock: on one host */
    uint32_t count;      /* its number among the sender's, from 1 */
    uint32_t missed;     /* of the sender's, not read since the last one that was */
} starling_news;

/* Joins an exercise. `settings` are "name=value" with ";" between: exercise, station (both needed),
 * name, adapter (hla1516e), connect (where; as the adapter wants it), records (the file with the
 * classes that carry records), timeout (s, 30), turns (a second, 500), realtime (no, or yes: the
 * sending thread has SCHED_FIFO; the program's memory is its own to lock).
 * With adapter=tcp, udp, multicast or shm `bench-meet ADDRESS` has to run (ADDRESS: unix:PATH or
 * HOST:PORT), and connect=ADDRESS is needed. There an instrument answers those that open later only
 * once it has declared its record: who opens meanwhile waits for it, at most `timeout`.
 * NULL: it failed, and starling_instrument_error(NULL) tells why. */
STARLING_INSTRUMENT_API starling_instrument* starling_instrument_open(char const* settings);

/* Declares the record, once: its name, its bytes, how many times a second it goes out (0: at each
 * `write`, each of them), and whether each must arrive (else the newest counts). That is the
 * sender's choice: who reads hears either. */
STARLING_INSTRUMENT_API int starling_instrument_declare(starling_instrument* it, char const* record,
                                                        size_t bytes, double hz, int reliable);

/* The record's value from now on. At the rate 0 it is queued and goes out in the next turn; where
 * 1024 (of large records fewer: 16 MB, at least two) wait already it fails, and the value does not
 * go out. */
STARLING_INSTRUMENT_API int starling_instrument_write(starling_instrument* it, void const* value);

/* The newest record of another station, of the size that was declared. 1: it is newer than what
 * was read last; 0: nothing newer has come, and `value` is as it was; those that came between are
 * counted in `missed`. -1: for example because the station has sent this record with another size.
 * A station that sends records of other names only is not told: it is as if it sent none. Who only
 * reads declares a record, too, at the rate 0, and writes none. `news` may be NULL. */
STARLING_INSTRUMENT_API int starling_instrument_read(starling_instrument* it, unsigned station,
                                                     void* value, starling_news* news);

/* The stations of which records have come, also of another size (`read` says so), at most `room`
 * of them; how many there are. */
STARLING_INSTRUMENT_API int starling_instrument_stations(starling_instrument* it,
                                                         unsigned* stations, int room);

/* Turns of the sending thread so far, those that began over a tenth of a turn late, and those that
 * were left out; any pointer may be NULL. */
STARLING_INSTRUMENT_API int starling_instrument_timing(starling_instrument* it, uint64_t* turns,
                                                       uint64_t* late, uint64_t* missed);

/* 0: all is well. -1: it has stopped (the connection was lost, for example). */
STARLING_INSTRUMENT_API int starling_instrument_state(starling_instrument* it);

/* Why the last call failed, or why it has stopped; "" if nothing did. After a `declare` that
 * returned 0 it may hold a notice, which is no failure: realtime=yes is not allowed here, and it
 * goes on without. The next call but `state` and `error` clears it. Never NULL. */
STARLING_INSTRUMENT_API char const* starling_instrument_error(starling_instrument* it);

/* Leaves the exercise. */
STARLING_INSTRUMENT_API void starling_instrument_close(starling_instrument* it);

#ifdef __cplusplus
}
#endif

#endif
