// Costs on GPUs: the rows of gpu_cost.def as a struct and as arrays of tiles.
#ifndef LW_MACHINE_GPU_COST_H
#define LW_MACHINE_GPU_COST_H

typedef struct GpuCost {
#define GPU_COST(name, value, unit, source, text) int name;
#include "machine/gpu_cost.def"
} GpuCost;

extern const GpuCost gpu_cost;

// Rows and columns of the result of a contraction in a block, and in a thread.
typedef struct GpuTile {
    int bm, bn, tm, tn;
} GpuTile;

typedef enum GpuTileName {
#define GPU_TILE(name, rows, columns, thread_rows, thread_columns, text) GPU_TILE_##name,
#include "machine/gpu_cost.def"
    GPU_TILES
} GpuTileName;

extern const GpuTile gpu_tile[GPU_TILES];

// Threads along a row; rows of both right operands in shared memory, and their stages.
typedef struct GpuScoreTile {
    int x, scores, score_stages, values, value_stages;
} GpuScoreTile;

extern const GpuScoreTile gpu_score_tile[];
extern const int gpu_score_tiles;

#endif
