// loopwright machine: the measured rates of this machine.
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static void print_bytes(const char *name, int64_t bytes) {
    if (bytes >= 1 << 20)
        printf("%s %.4g MiB", name, (double)bytes / (1 << 20));
    else
        printf("%s %.4g KiB", name, (double)bytes / (1 << 10));
}

static void print_rates(const lw_machine *m) {
    static const char *const isa[] = {"scalar", "avx2", "avx512"};
    static const char *const level[] = {"L1", "L2", "L3", "memory"};
    printf("\n  multiply-add, GFLOP/s   one core   all cores\n");
    for (int i = 0; i < 3; i++)
        for (int t = 0; t < 2; t++)
            if (m->gflops[i][t][0] > 0)
                printf("    %-8s %-10s %10.1f  %10.1f\n", isa[i], t ? "f64" : "f32",
                       m->gflops[i][t][0], m->gflops[i][t][1]);
    printf("\n  moving, GB/s        load             store            copy (both ways)\n");
    printf("                   one      all      one      all      one      all cores\n");
    for (int l = 0; l < 4; l++) {
        if (m->gbps[l][0][0] <= 0) continue;
        printf("    %-8s", level[l]);
        for (int k = 0; k < 3; k++) printf("  %7.1f  %7.1f", m->gbps[l][k][0], m->gbps[l][k][1]);
        printf("\n");
    }
}

int command_machine(Cli *cli) {
    if (cli->nwords) return cli_misuse(cli, "it takes no file, not '%s'", cli->words[0]);
    lw_machine_options o = {.struct_size = sizeof o, .remeasure = cli->remeasure};
    const lw_machine *m;
    int status = cli_report(cli, lw_machine_get(cli->ctx, &o, &m));
    if (status) return status;
    json_raw(&cli->object, "machine", m->json);
    json_str(&cli->object, "cached", m->file);
    json_bool(&cli->object, "measured", m->measured);
    if (cli->json) return EXIT_OK;
    printf("%s\n  %s, %d core%s", m->cpu, m->isa, m->cores, m->cores == 1 ? "" : "s");
    for (int i = 0; i < 3; i++) {
        static const char *const name[] = {", L1", ", L2", ", L3"};
        if (m->cache[i]) print_bytes(name[i], m->cache[i]);
    }
    printf("\n");
    print_rates(m);
    printf("\n  %s %s\n", m->measured ? "measured now; kept in" : "from",
           m->file ? m->file : "nowhere");
    return EXIT_OK;
}
