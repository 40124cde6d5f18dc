// loopwright machine: the measured rates of this machine, and machine descriptions.
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

// Rates that were not measured, as those of the emulator, are left out.
static void print_device_rates(const lw_device *d) {
    static const char *const move[] = {"memory, load", "memory, store", "memory, copy (both ways)"};
    if (d->gflops[0] <= 0) return;
    printf("\n  multiply-add, GFLOP/s\n    %-26s %10.1f\n    %-26s %10.1f\n", "f32", d->gflops[0],
           "f64", d->gflops[1]);
    printf("\n  moving, GB/s\n    %-26s %10.1f\n    %-26s %10.1f\n", "shared memory",
           d->shared_gbps, "L2", d->l2_gbps);
    for (int i = 0; i < 3; i++) printf("    %-26s %10.1f\n", move[i], d->gbps[i]);
    printf("\n  launch in a graph, us        %10.2f\n", d->launch_us);
    printf("\n  %s %s\n", d->measured ? "measured now; kept in" : "from",
           d->file ? d->file : "nowhere");
}

static int print_device(Cli *cli, const lw_machine_options *o) {
    const lw_device *d;
    int status = cli_report(cli, lw_device_get(cli->ctx, cli->device, o, &d));
    if (status) return status;
    json_raw(&cli->object, "device", d->json);
    json_str(&cli->object, "cached", d->file);
    json_bool(&cli->object, "measured", d->measured);
    if (cli->json) return EXIT_OK;
    printf("%s, %s\n  %s, %d processors of %d MHz", d->model, d->name, d->target, d->processors,
           d->clock_mhz);
    print_bytes(", shared", d->block_shared);
    print_bytes(", L2", d->l2_bytes);
    printf(", memory %.4g GiB\n", (double)d->memory_bytes / (1 << 30));
    print_device_rates(d);
    return EXIT_OK;
}

static int describe(Cli *cli) {
    const char *text, *name = cli->nwords ? cli->words[0] : NULL;
    if (cli->nwords > 1) return cli_misuse(cli, "one machine at a time");
    int status = cli_report(cli, lw_machine_describe(cli->ctx, name, &text));
    if (status) return status;
    if (cli->json)
        json_str(&cli->object, "description", text);
    else
        fputs(text, stdout);
    return EXIT_OK;
}

int command_machine(Cli *cli) {
    if (cli->describe) return describe(cli);
    if (cli->nwords) return cli_misuse(cli, "'%s' needs --describe", cli->words[0]);
    lw_machine_options o = {.struct_size = sizeof o, .remeasure = cli->remeasure};
    if (cli->device) return print_device(cli, &o);
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
