/* A radar as there are many: its own record, its own loop. Of what connects it with other
 * instruments it knows the nine functions of starling_instrument.h and nothing else.
 *
 *   cc radar.c -o radar -I/where/the/header/is -L/where/the/library/is -lstarling-instrument -lm
 *   export LD_LIBRARY_PATH=/where/the/library/is:/where/librti1516e.so/is
 *   ./radar "exercise=demo;station=1" 10
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "starling_instrument.h"

struct track {
    double azimuth, range;
    unsigned sweep;
};

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: radar SETTINGS SECONDS\n");
        return 2;
    }
    starling_instrument *link = starling_instrument_open(argv[1]);
    if (link == NULL) {
        fprintf(stderr, "radar: %s\n", starling_instrument_error(NULL));
        return 1;
    }
    if (starling_instrument_declare(link, "track", sizeof(struct track), 20, 1) != 0) {
        fprintf(stderr, "radar: %s\n", starling_instrument_error(link));
        starling_instrument_close(link);
        return 1;
    }
    unsigned long heard = 0, missed = 0, wrong = 0;
    uint64_t first_ns = 0, last_ns = 0; /* when the first and the last that was heard were sent */
    struct timespec const pause = {0, 10000000};
    long const turns = (long)(atof(argv[2]) * 100);
    for (long turn = 0; turn < turns && starling_instrument_state(link) == 0; ++turn) {
        /* The antenna turns; what it sees is written whenever it is there. */
        struct track own = {fmod((double)turn * 0.36, 360), 12000 + (double)(turn % 100), 0};
        own.sweep = (unsigned)(turn / 1000);
        starling_instrument_write(link, &own);
        for (unsigned station = 1; station <= 10; ++station) {
            struct track other;
            starling_news news;
            if (starling_instrument_read(link, station, &other, &news) != 1)
                continue;
            last_ns = news.sent_ns;
            if (heard++ == 0)
                first_ns = last_ns;
            missed += news.missed;
            wrong += !(other.range >= 12000 && other.range < 12100);
        }
        nanosleep(&pause, NULL);
    }
    int const failed = starling_instrument_state(link) != 0;
    if (failed)
        fprintf(stderr, "radar: %s\n", starling_instrument_error(link));
    unsigned stations[10];
    int const others = starling_instrument_stations(link, stations, 10);
    /* Turns of its own sending: what was to be sent in them was not, or later. */
    uint64_t left_out = 0;
    starling_instrument_timing(link, NULL, NULL, &left_out);
    printf("{\"heard\": %lu, \"missed\": %lu, \"wrong\": %lu, \"others\": %d, \"seconds\": %.3f, "
           "\"left_out\": %lu}\n",
           heard, missed, wrong, others, (double)(last_ns - first_ns) * 1e-9,
           (unsigned long)left_out);
    starling_instrument_close(link);
    return failed || wrong != 0;
}
