#include "machine/gpu_cost.h"

const GpuCost gpu_cost = {
#define GPU_COST(name, value, unit, source, text) .name = value,
#include "machine/gpu_cost.def"
};

const GpuTile gpu_tile[GPU_TILES] = {
#define GPU_TILE(name, rows, columns, thread_rows, thread_columns, text)                           \
    {rows, columns, thread_rows, thread_columns},
#include "machine/gpu_cost.def"
};

const GpuScoreTile gpu_score_tile[] = {
#define GPU_SCORE_TILE(x, scores, score_stages, values, value_stages)                              \
    {x, scores, score_stages, values, value_stages},
#include "machine/gpu_cost.def"
};

const int gpu_score_tiles = sizeof gpu_score_tile / sizeof *gpu_score_tile;
