// loopwright edit: shared by its files.
#ifndef CMD_EDIT_H
#define CMD_EDIT_H

#include "cli.h"

// Lets a person edit in the terminal, starting from `from`, which it takes over; *out: the schedule
// at the end, to be freed.
int edit_screen(Cli *cli, lw_schedule *from, lw_schedule **out);

#endif
