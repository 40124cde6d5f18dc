# Loopwright's build. `make` builds, `make test` tests, `make help` lists the rest.
#
# There are no lists of files here: a new .c file in src/FOLDER/ or cli/, a new tests/unit/*/test_*.c,
# tests/fuzz/fuzz_*.c or bench/*.c is picked up by its place and name. Everything that is made lies
# under $(BUILD), so that builds with other compilers or flags live side by side:
#
#     make BUILD=build-clang CC=clang
#     make BUILD=build-debug CFLAGS='-O0 -g'
#     make WERROR=                               (a compiler that warns about more than ours do)

# From the public header; the first number names the ABI.
VERSION := $(shell awk '/define LW_VERSION_/ { v = v s $$3; s = "." } END { print v }' \
             include/loopwright.h)
SOVERSION := $(firstword $(subst ., ,$(VERSION)))

BUILD ?= build
ifeq ($(origin CC),default)
CC := gcc
endif
CFLAGS ?= -O2 -g
# -Werror for developers (.ci/run sets it): other compilers know other warnings.
WERROR ?=
SANITIZE ?=

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
DESTDIR ?=

# Fuzzing: seconds of each libFuzzer target, and the divisor of the counts of randomised tests.
FUZZ_SECONDS ?= 60
LW_FUZZ_SCALE ?= 1
export LW_FUZZ_SCALE
# Tests and benchmarks never see the developer's own tuning database.
export LW_DB = none
# Instructions that fuzz-long compares with as and Zydis, and the seed that draws their operands.
ASM_COUNT ?= 5000000
ASM_SEED ?= 1

# Each foreign library is used by one folder only. isl (src/poly) is loaded at run time.
PACKAGES := $(if $(wildcard src/search/*.c),sqlite3)
PACKAGE_CFLAGS := $(if $(strip $(PACKAGES)),$(shell pkg-config --cflags $(PACKAGES) 2>/dev/null))
LIBS := $(if $(strip $(PACKAGES)),$(shell pkg-config --libs $(PACKAGES) 2>/dev/null)) \
        -lm -ldl -lpthread

# Disables clang's additional meanings of -Wconversion: to clang an enum is unsigned, and !"text" an
# error. In instrumented code gcc warns about impossible paths.
WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wmissing-prototypes $(WERROR) \
            $(if $(findstring clang,$(CC)),-Wno-sign-conversion -Wno-string-conversion \
            -Wno-gnu-variable-sized-type-not-at-end,\
            $(if $(SANITIZE),-Wno-maybe-uninitialized))
FLAGS := -std=gnu11 $(WARNINGS) -ffp-contract=off -fPIC -fvisibility=hidden -pthread \
         -fstack-protector-strong \
         -DLW_BUILD_VERSION='"$(VERSION)"' $(CFLAGS) $(SANITIZE)
LINK := $(CC) -pthread -Wl,-z,relro,-z,now $(LDFLAGS) $(SANITIZE)

# `make V=1` shows whole commands instead of what is made.
Q := $(if $(V),,@)
made = $(if $(V),,@echo '  $(1) $@')

SEE_ALL := -Isrc -Iinclude -Itests -Ibench -I$(BUILD)/gen $(PACKAGE_CFLAGS)
SEE_API := -Iinclude
# `loopwright bench` is bench/command; like the benchmarks it measures with bench/lab, which does
# not use the library.
COMMAND_BENCH := $(sort $(wildcard bench/command/*.c)) \
                 bench/lab/lab.c bench/lab/rivals.c bench/lab/stats.c
sees = $(if $(filter examples/%,$(1)),$(SEE_API),$(if $(filter python/%,$(1)),$(SEE_API) -isystem $(PY_INCLUDE),$(if $(filter cli/% bench/command/%,$(1)),$(SEE_API) -Icli -Ibench,$(SEE_ALL))))

# ---- Files -----------------------------------------------------------------------------------

SRC := $(sort $(wildcard src/*/*.c src/*/*/*.c))
CLI := $(sort $(wildcard cli/*.c))
UNIT := $(sort $(wildcard tests/unit/*/test_*.c))
UNIT_HELP := $(sort $(filter-out $(UNIT),$(wildcard tests/unit/*.c)))
SUPPORT := $(sort $(wildcard tests/support/*.c))
FUZZ := $(sort $(wildcard tests/fuzz/fuzz_*.c))
BENCH := $(sort $(wildcard bench/*.c))
BENCH_LAB := $(sort $(wildcard bench/lab/*.c))
PEERS := $(if $(wildcard bench/peers/*),$(shell grep -l peer_main $(wildcard bench/peers/*.c bench/peers/*.cpp)))
EXAMPLES := $(sort $(wildcard examples/c/*.c))
# Descriptions of spaces, which spacec compiles to C: NAME.space to NAME_space.c and NAME_space.h.
SPACES := $(sort $(wildcard src/space/*.space))
TEST_SPACES := $(sort $(wildcard tests/spaces/*.space))
SPACEC := $(BUILD)/spacec

obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
made_obj = $(patsubst %.space,$(BUILD)/obj/gen/%_space.o,$(notdir $(1)))
made_h = $(SPACES:src/space/%.space=$(BUILD)/gen/space/%_space.h)
test_made_h = $(TEST_SPACES:tests/spaces/%.space=$(BUILD)/gen/spaces/%_space.h)
LIB_OBJ := $(call obj,$(SRC)) $(call made_obj,$(SPACES))

LIB_A := $(BUILD)/libloopwright.a
LIB_SO := $(BUILD)/libloopwright.so
SUPPORT_A := $(BUILD)/libsupport.a
COMMAND := $(if $(CLI),$(BUILD)/loopwright)
UNIT_BIN := $(patsubst %.c,$(BUILD)/unit/%,$(notdir $(UNIT)))
REPLAY_BIN := $(FUZZ:tests/fuzz/%.c=$(BUILD)/replay/%)
FUZZ_BIN := $(FUZZ:tests/fuzz/%.c=$(BUILD)/fuzz/%)
BENCH_BIN := $(BENCH:bench/%.c=$(BUILD)/bench/%)
PEERS += $(wildcard bench/peers/*.py)
PEER_BIN := $(patsubst bench/peers/%,$(BUILD)/peers/%,$(basename $(PEERS)))
EXAMPLE_BIN := $(EXAMPLES:examples/c/%.c=$(BUILD)/examples/%)

# The complete Python package, in $(BUILD)/python. An extension module built with the headers of any
# Python from 3.9 on works for all of them.
PYTHON ?= python3
PY_INCLUDE ?= $(patsubst %/,%,$(dir $(lastword $(sort $(wildcard /usr/include/python3.*/Python.h)))))
PY_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard python/native/*.c)))
PY_PACKAGE := $(patsubst python/%,$(BUILD)/python/%,$(sort $(wildcard python/loopwright/*.py*)) \
              python/loopwright/py.typed)
PY_NATIVE := $(BUILD)/python/loopwright/_native.abi3.so

all: $(LIB_A) $(LIB_SO) $(COMMAND)

tests: all $(SPACEC) $(UNIT_BIN) $(REPLAY_BIN) $(EXAMPLE_BIN) $(if $(PY_INCLUDE),python,no-python)
benches: all $(BENCH_BIN)

# ---- Rules -----------------------------------------------------------------------------------

# A test, fuzz target or benchmark names a library that only it needs in a line of its source:
# `// link: -lZydis`.
link_line = $(shell sed -n 's|^// link: ||p' $(1))

# Stamps: objects are rebuilt if compiler or flags change, the library if a source is added or
# removed. Each is rewritten only if its text differs.
stamp = @mkdir -p $(@D); echo '$(subst ','\'',$(1))' | cmp -s - $@ || \
        echo '$(subst ','\'',$(1))' > $@
$(BUILD)/flags: FORCE
	$(call stamp,$(filter-out ccache,$(CC)) $(FLAGS))
$(BUILD)/sources: FORCE
	$(call stamp,$(SRC) $(SPACES))
# Whether there are isl's headers (src/poly/isl.h): they may be installed later.
ISL := $(shell $(CC) -E -include isl/schedule_node.h -xc /dev/null >/dev/null 2>&1 && echo found || echo missing)
$(BUILD)/isl: FORCE
	$(call stamp,$(ISL))
$(call obj,$(filter src/poly/%,$(SRC))): $(BUILD)/isl

# SMALL=-Os makes generated code small, and the folders that compiling a kernel hardly uses.
COLD := code/c code/gpu code/ptx emulate lang passes search simulate stripe transform tune
$(COLD:%=$(BUILD)/obj/src/%/%.o): private FLAGS += $(SMALL)
$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call made,cc  )
	$(Q)$(CC) $(FLAGS) $(call sees,$<) -MMD -MP -c $< -o $@

# The assembler includes the pages' styles and scripts, and does not report dependences.
$(BUILD)/obj/cli/web.o: $(wildcard cli/web/*)

# So do the machine descriptions that the library ships.
$(BUILD)/obj/src/passes/hardware_shipped.o: $(wildcard machines/*.lwm)

# The compiler of descriptions, for this machine; it uses only src/base.
$(SPACEC): $(call obj,$(wildcard tools/spacec/*.c src/base/*.c))
	$(call made,link)
	$(Q)$(LINK) $^ -lm -o $@

$(BUILD)/gen/space/%_space.c $(BUILD)/gen/space/%_space.h &: src/space/%.space $(SPACEC)
	@mkdir -p $(@D)
	$(call made,gen )
	$(Q)$(SPACEC) $< $(@D)
$(BUILD)/gen/spaces/%_space.c $(BUILD)/gen/spaces/%_space.h &: tests/spaces/%.space $(SPACEC)
	@mkdir -p $(@D)
	$(call made,gen )
	$(Q)$(SPACEC) $< $(@D)

# Generated code is large: optimising it with sanitizers takes minutes.
$(call made_obj,$(SPACES)): $(BUILD)/obj/gen/%.o: $(BUILD)/gen/space/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call made,cc  )
	$(Q)$(CC) $(FLAGS) $(if $(SANITIZE),-O0,$(SMALL)) $(SEE_ALL) -MMD -MP -c $< -o $@
$(call made_obj,$(TEST_SPACES)): $(BUILD)/obj/gen/%.o: $(BUILD)/gen/spaces/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call made,cc  )
	$(Q)$(CC) $(FLAGS) $(if $(SANITIZE),-O0) $(SEE_ALL) -MMD -MP -c $< -o $@

# Files that may include a generated header depend on it.
$(call obj,$(filter-out src/base/%,$(SRC))): | $(made_h)
$(call obj,$(UNIT) $(UNIT_HELP) $(SUPPORT) $(FUZZ) $(BENCH) $(BENCH_LAB)): | $(made_h) $(test_made_h)

$(LIB_A): $(LIB_OBJ) $(BUILD)/sources
	@rm -f $@
	$(call made,ar  )
	$(Q)$(AR) rcs $@ $(LIB_OBJ)

# Code shared by tests, fuzz targets and benchmarks.
$(SUPPORT_A): $(call obj,$(SUPPORT)) $(call made_obj,$(TEST_SPACES))
	@rm -f $@
	$(call made,ar  )
	$(Q)$(AR) rcs $@ $^

$(LIB_SO): $(LIB_OBJ) $(BUILD)/sources src/api/exports.map
	$(call made,link)
	$(Q)$(LINK) -shared -Wl,-soname,libloopwright.so.$(SOVERSION) $(if $(SANITIZE),,-Wl,-z,defs) \
	    -Wl,--version-script=src/api/exports.map $(LIB_OBJ) $(LIBS) -o $@
	@ln -sf libloopwright.so $@.$(SOVERSION)

$(BUILD)/loopwright: $(call obj,$(CLI) $(COMMAND_BENCH)) $(LIB_A)
	$(call made,link)
	$(Q)$(LINK) $^ $(LIBS) -o $@

# The folders of tests/unit mirror src; a test's name alone says which program it is.
unit_source = $(filter %/$(1).c,$(UNIT))
.SECONDEXPANSION:
$(BUILD)/unit/%: $$(call obj,$$(call unit_source,$$*)) $(call obj,$(UNIT_HELP)) $(SUPPORT_A) $(LIB_A)
	@mkdir -p $(@D)
	$(call made,link)
	$(Q)$(LINK) $^ $(call link_line,$(call unit_source,$*)) $(LIBS) -o $@

$(BUILD)/replay/%: $(BUILD)/obj/tests/fuzz/%.o $(BUILD)/obj/tests/fuzz/replay.o $(SUPPORT_A) \
                   $(LIB_A)
	@mkdir -p $(@D)
	$(call made,link)
	$(Q)$(LINK) $^ $(call link_line,tests/fuzz/$*.c) $(LIBS) -o $@

$(BUILD)/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(SUPPORT_A) $(LIB_A)
	@mkdir -p $(@D)
	$(call made,link)
	$(Q)$(LINK) -fsanitize=fuzzer $^ $(call link_line,tests/fuzz/$*.c) $(LIBS) -o $@

$(BUILD)/bench/%: $(BUILD)/obj/bench/%.o $(call obj,$(BENCH_LAB)) $(SUPPORT_A) $(LIB_A)
	@mkdir -p $(@D)
	$(call made,link)
	$(Q)$(LINK) $^ $(call link_line,bench/$*.c) $(LIBS) -o $@

# A peer names the header it needs, `// need: dnnl.hpp`; it is not built without that header.
peer_line = $(shell sed -n 's|^// $(2): ||p' $(1))
peer = @mkdir -p $(@D); cc='$(1) $(call peer_line,$<,flags)'; \
       need='$(call peer_line,$<,need)'; \
       if [ -n "$$need" ] && ! echo "\#include <$$need>" | $$cc -E - >/dev/null 2>&1; \
       then echo "  --   $(@F): absent, there is no $$need (make bench-setup)"; \
       else echo '  peer $@'; $$cc $< $(call peer_line,$<,link) -o $@; fi
$(BUILD)/peers/%: bench/peers/%.c $(wildcard bench/peers/*.h)
	$(call peer,$(CC) -x c -std=gnu11 -O2 -Wall -Wextra)
$(BUILD)/peers/%: bench/peers/%.py
	@mkdir -p $(@D)
	@echo '  peer $@'; install -m 755 $< $@
$(BUILD)/peers/%: bench/peers/%.cpp $(wildcard bench/peers/*.h)
	$(call peer,$(CXX) -x c++ -std=c++17 -O2 -Wall -Wextra)

# Plug-ins, if their libraries are installed: `make mpi`.
MPICC ?= mpicc
mpi: $(BUILD)/loopwright-mpi.so
$(BUILD)/loopwright-mpi.so: plugins/mpi/mpi.c src/search/remote.h
	@mkdir -p $(@D)
	$(call made,plug)
	$(Q)$(MPICC) -std=gnu11 -O2 -Wall -Wextra -fPIC -shared -fvisibility=hidden $(SEE_ALL) $< -o $@

# SQLite's static library, if there is one: then the module needs no library except glibc.
PY_LIBS = $(if $(filter /%,$(shell $(CC) -print-file-name=libsqlite3.a)),$(subst \
          -lsqlite3,-l:libsqlite3.a,$(LIBS)),$(LIBS))
python: $(PY_NATIVE) $(PY_PACKAGE)
no-python:
	@echo '  --   the Python package: absent, there is no Python.h (tools/setup test)'
$(PY_NATIVE): $(PY_OBJ) $(LIB_A) python/native/exports.map
	@mkdir -p $(@D)
	$(call made,link)
	$(Q)$(LINK) -shared -Wl,--version-script=python/native/exports.map $(PY_OBJ) $(LIB_A) $(PY_LIBS) -o $@
$(BUILD)/python/%: python/%
	@mkdir -p $(@D)
	$(Q)cp $< $@

# Examples are built as a user would build them: against the shared library and the public header.
$(BUILD)/examples/%: $(BUILD)/obj/examples/c/%.o $(LIB_SO)
	@mkdir -p $(@D)
	$(call made,link)
	$(Q)$(LINK) $< -L$(BUILD) -lloopwright -Wl,-rpath,'$$ORIGIN/..' -o $@

-include $(PY_OBJ:.o=.d) $(patsubst %.o,%.d,$(call obj,$(SRC) $(CLI) $(UNIT) $(UNIT_HELP) $(SUPPORT) $(FUZZ) \
    $(wildcard tests/fuzz/replay.c tools/spacec/*.c) $(BENCH) $(BENCH_LAB) $(COMMAND_BENCH) $(EXAMPLES)) \
    $(call made_obj,$(SPACES) $(TEST_SPACES)))

# A recursive make builds in parallel even if the outer one does not.
SUBMAKE = $(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

# ---- Running ---------------------------------------------------------------------------------

demo:
	@tools/setup build
	+@$(SUBMAKE) all
	@$(BUILD)/loopwright demo

test:
	@tools/setup test
	+@$(SUBMAKE) tests
	@tests/run --build $(BUILD)

# To be run before every commit: all quick tests, with a fraction of the randomised rounds.
quick: LW_FUZZ_SCALE = 20
quick: tests
	@tests/run --build $(BUILD) unit text error layers

unit: tests
	@tests/run --build $(BUILD) unit

bless: tests
	@tests/run --build $(BUILD) --bless text error

# The whole suite under AddressSanitizer and UBSan, randomised tests at a tenth.
ASAN := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -DLW_DEBUG
sanitize:
	+@$(SUBMAKE) BUILD=build-asan SANITIZE='$(ASAN)' tests
	@LW_FUZZ_SCALE=10 LW_SANITIZE='$(ASAN)' tests/run --build build-asan

# Plants the faults of tests/fault.def into a copy of the sources (build-faults/tree) and runs the
# tests. A fault that survives is a test that is missing. `make faults ARGS='mask mem.c'` takes some.
FAULTS = MAKE='$(SUBMAKE)' tests/faults --build build-faults
faults:
	+@$(FAULTS) $(ARGS)
faults-quick:
	+@$(FAULTS) --quick --hints $(ARGS)

# Multi-threaded tests under ThreadSanitizer. The code of kernels is not instrumented; everything
# around it is. ThreadSanitizer needs a fixed address layout.
TSAN_TESTS := pool parallel kernels db
tsan:
	+@$(SUBMAKE) BUILD=build-tsan SANITIZE='-fsanitize=thread' $(TSAN_TESTS:%=build-tsan/unit/test_%)
	@for t in $(TSAN_TESTS); do \
	    LW_FUZZ_SCALE=10 LW_KERNELS=200 TSAN_OPTIONS=halt_on_error=1:die_after_fork=0 \
	    setarch -R build-tsan/unit/test_$$t || exit 1; done

# The pages in a real browser; needs Chromium, so it is not part of `make test`.
test-report: all bench-peers
	@tools/test-report $(BUILD)

check-layers:
	@tools/check-layers
	@tools/check-faults

# Every C file of the project; generated ones lie under $(BUILD).
C_FILES = $(wildcard include/*.h $(foreach d,src cli python tests bench plugins tools examples,\
          $(d)/*.[ch] $(d)/*/*.[ch] $(d)/*/*/*.[ch]))
format:
	@clang-format -i $(C_FILES)
check-format:
	@printf '%s\n' $(C_FILES) | xargs -P$$(nproc) -n 50 sh -c 'bad=0; \
	    clang-format --dry-run -Werror "$$@" || bad=1; \
	    ! LC_ALL=C.UTF-8 grep -HnE "^.{101}" "$$@" || bad=1; exit $$bad' sh

# A refactoring leaves every generated kernel byte-identical to those of the commit BASE.
BASE ?= HEAD~1
same-code: all
	@tools/same-code --base $(BASE) $(BUILD)/loopwright

# tests/fuzz/run names the parts, builds and runs them: ARGS='--only code,walks', ARGS='--seed
# 500000', ARGS=--list. fuzz-long adds very long tests and runs the others ten times as long with
# other seeds.
fuzz:
	@tools/setup ci
	+@MAKE='$(SUBMAKE)' tests/fuzz/run --build $(BUILD) --seconds $(FUZZ_SECONDS) $(ARGS)
fuzz-long: $(BUILD)/unit/test_asm_sweep $(BUILD)/unit/test_jit_math
	@LW_ASM_COUNT=$(ASM_COUNT) LW_ASM_SEED=$(ASM_SEED) $<
	@LW_MATH_STRIDE=1 LW_MATH_REPORT=1 $(BUILD)/unit/test_jit_math
	+@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=1800 ARGS='--times 10 --seed 1000001 $(ARGS)'
fuzzers: $(FUZZ_BIN)

bench-front: $(BUILD)/bench/front
	@$<
bench-ptx: $(BUILD)/bench/ptx
	@$< $(ARGS)
bench-asm: $(BUILD)/bench/asm
	@$<
bench-dispatch: $(BUILD)/bench/dispatch
	@$<
bench-database: $(BUILD)/bench/database
	@$<
bench-functions: $(BUILD)/bench/functions
	@$<
# Large pages, as in the measurement of memory rates.
HUGE_PAGES := GLIBC_TUNABLES=glibc.malloc.hugetlb=1
bench-space: $(BUILD)/bench/space
	@$(HUGE_PAGES) $< $(ARGS)
bench-bound: $(BUILD)/bench/bound $(BUILD)/bench/described
	@$(HUGE_PAGES) $< $(ARGS)
	@$(BUILD)/bench/described
bench-splits: $(BUILD)/bench/splits
	@$(HUGE_PAGES) $< $(ARGS)
bench-proofs: $(BUILD)/bench/proofs
	@$<
bench-stripe: $(BUILD)/bench/stripe
	@$(HUGE_PAGES) $< $(ARGS)
bench-accelerator: all
	@python3 bench/accelerator.py --loopwright $(COMMAND) $(ARGS)

bench-passes: all
	@$(COMMAND) bench gemm conv memory --machine avx512 --peers chosen $(ARGS)
	@$(COMMAND) bench gemm conv memory --machine avx2 --isa avx2 --peers chosen $(ARGS)
	@python3 bench/passes.py --loopwright $(COMMAND)
bench-teml: all
	@python3 bench/teml.py --loopwright $(COMMAND) $(ARGS)
bench-setup:
	@tools/setup bench
bench-peers: $(PEER_BIN)
# Arguments of a benchmark: make bench-x86 ARGS='--quick --only gemm'
bench: all bench-peers
	@$(BUILD)/loopwright bench $(ARGS)
# All suites in full, as a page: about twenty minutes on an otherwise idle machine.
performance: all bench-peers
	@$(BUILD)/loopwright bench --markdown $(ARGS) > $(BUILD)/performance.md
	@mv $(BUILD)/performance.md docs/performance.md
bench-loopstack: all bench-peers
	@$(BUILD)/loopwright bench loopstack $(ARGS)
bench-x86: $(BUILD)/bench/x86 bench-peers
	@$< --peers $(BUILD)/peers $(ARGS)
bench-auto: $(BUILD)/bench/auto bench-peers
	@$< --peers $(BUILD)/peers $(ARGS)
bench-tune: $(BUILD)/bench/tune bench-peers
	@$< --peers $(BUILD)/peers $(ARGS)
bench-choice: $(BUILD)/bench/choice
	@$< $(ARGS)
bench-fit: $(BUILD)/bench/fit
	@$(HUGE_PAGES) $< $(ARGS)
bench-agree: $(BUILD)/bench/choice
	@$< --agree --kernels 100 --seconds 0.3 $(ARGS)
# On a machine with a GPU: the calls of the driver, its peaks, programs against the interpreter, and
# a sample of them under compute-sanitizer.
test-gpu: all $(BUILD)/unit/test_device $(BUILD)/unit/test_ptx_fuzz
	@$(BUILD)/unit/test_device
	@LW_TEST_DEVICE=cuda:0 $(BUILD)/unit/test_ptx_fuzz
	@$(BUILD)/loopwright machine --device cuda:0 --remeasure
	@$(PYTHON) tools/gpu-check
	@$(PYTHON) tools/gpu-check --sanitize
# Kernels on a GPU against torch, if PYTHON has it; ARGS=--check runs them on the emulator.
bench-gpu: all
	@$(PYTHON) bench/gpu.py --build $(BUILD) $(ARGS)
# The Python package beside NumPy, opt_einsum and torch.compile, where PYTHON has them.
bench-python: python
	@$(PYTHON) bench/python.py --build $(BUILD) $(ARGS)
# Writes docs/tuning-*.svg: make bench-strategies ARGS='TRIALS REPETITIONS'
bench-strategies: $(BUILD)/loopwright
	@LW_BUILD=$(BUILD) bench/strategies $(ARGS)

# ---- Installing ------------------------------------------------------------------------------

# One wheel for every Python from 3.9 on; pip installs it.
wheel:
	@$(PYTHON) python/backend.py $(BUILD)

INTO = $(DESTDIR)$(PREFIX)
LIB_INTO = $(DESTDIR)$(LIBDIR)
fill = sed -e 's|@VERSION@|$(VERSION)|g' -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@LIBDIR@|$(LIBDIR)|g' \
       -e 's|@SOVERSION@|$(SOVERSION)|g' -e 's|@PACKAGES@|$(strip $(PACKAGES))|g' \
       -e 's|@PRIVATE_LIBS@|$(subst $(space),;,$(strip $(LIBS)))|g'
space := $() $()

install: all
	$(Q)install -d $(INTO)/bin $(INTO)/include $(LIB_INTO)/pkgconfig $(LIB_INTO)/cmake/loopwright
	$(Q)install -m 755 $(COMMAND) $(INTO)/bin/
	$(Q)install -m 644 include/loopwright.h $(INTO)/include/
	$(Q)for p in $(wildcard $(PEER_BIN)); do \
	    install -D -m 755 $$p $(INTO)/libexec/loopwright/peers/$${p##*/}; done
	$(Q)install -m 644 $(LIB_A) $(LIB_INTO)/
	$(Q)install -m 755 $(LIB_SO) $(LIB_INTO)/libloopwright.so.$(VERSION)
	$(Q)ln -sf libloopwright.so.$(VERSION) $(LIB_INTO)/libloopwright.so.$(SOVERSION)
	$(Q)ln -sf libloopwright.so.$(SOVERSION) $(LIB_INTO)/libloopwright.so
	$(Q)if [ -e $(BUILD)/loopwright-mpi.so ]; then \
	    install -d $(LIB_INTO)/loopwright && \
	    install -m 755 $(BUILD)/loopwright-mpi.so $(LIB_INTO)/loopwright/; fi
	$(Q)$(fill) tools/loopwright.pc.in > $(LIB_INTO)/pkgconfig/loopwright.pc
	$(Q)$(fill) tools/loopwright-config.cmake.in > \
	    $(LIB_INTO)/cmake/loopwright/loopwright-config.cmake
	$(Q)$(fill) tools/loopwright-config-version.cmake.in > \
	    $(LIB_INTO)/cmake/loopwright/loopwright-config-version.cmake
	@echo 'installed: $(INTO)/bin/loopwright, $(INTO)/include/loopwright.h,'
	@echo '           $(LIB_INTO)/libloopwright.so.$(VERSION), its static library, pkg-config and CMake files'
	@tools/ldconfig '$(DESTDIR)' '$(LIBDIR)'

uninstall:
	rm -f $(INTO)/bin/loopwright $(INTO)/include/loopwright.h $(LIB_INTO)/libloopwright.a \
	    $(LIB_INTO)/libloopwright.so* $(LIB_INTO)/pkgconfig/loopwright.pc
	rm -rf $(LIB_INTO)/cmake/loopwright $(LIB_INTO)/loopwright $(INTO)/libexec/loopwright
	@tools/ldconfig '$(DESTDIR)'

clean:
	rm -rf $(BUILD) build-asan build-clang build-faults build-fuzz build-tsan build-wheel

help:
	@sed -n 's/^# > //p' Makefile

# > make                build the libraries and the command into build/
# > make demo           install missing packages, build, and run a demonstration
# > make test           install missing packages, build, and run every test
# > make quick          build and run the quick tests (under a minute)
# > make unit           build and run the unit tests
# > make sanitize       the whole suite under AddressSanitizer and UBSan
# > make faults         plant faults in the compiler; some test must catch each
# > make tsan           the multi-threaded tests under ThreadSanitizer
# > make test-report    render the pages of report and explain in headless Chromium
# > make bless          rewrite the expectations of tests/text and tests/error
# > make check-layers   who includes whom, against src/LAYERS; planted faults still fit the code
# > make same-code      compare the code of all examples with that of another commit (BASE=main)
# > make format         run clang-format on everything; check-format only checks
# > make fuzz           randomised tests at full length (ARGS=--list: the parts); fuzz-long: a day of them
# > make bench-front    time the front-end
# > make bench-ptx      time from a Program to the PTX of its kernels
# > make bench-asm      time the instruction encoder
# > make bench-dispatch time kernel lookup, kernel calls, and parallel loops
# > make bench-database time lookups and writes in the tuning database
# > make bench-functions time exp, tanh and similar functions, per element
# > make bench-space    the spaces of known kernels: size, dead ends, cost of a decision, pruning
# > make bench-bound    check lower bounds against measured times, and print the gap to the best
# > make bench-splits   the cost of tails of nested splits, against the same nests without
# > make bench-accelerator  the layers of ResNet-50 on the simulated accelerator
# > make bench-passes   loops made by the passes of a machine against the chosen ones, and their time
# > make bench-proofs   polyhedral scheduling and the legality of transformations
# > make bench-teml     the TeML paper's kernels: its paths as C and machine code, and our choice
# > make bench-stripe   kernels from flat Stripe text against the same from TC
# > make bench-x86      kernels against peak, bandwidth and other libraries, if installed
# > make bench-auto     schedules chosen without search against those by hand and LIBXSMM
# > make bench          loopwright bench, peers built first; ARGS='--quick gemm'
# > make performance    regenerate docs/performance.md from a run of all suites
# > make bench-loopstack the two tables of the LoopStack paper
# > make bench-tune     trials per second, the result after one second, tuned kernels against libraries
# > make bench-choice   200 random kernels: the chosen schedule against a tuned one
# > make bench-fit    fit the numbers of the choice to this machine
# > make bench-agree    100 random kernels: the time of tune against that of run
# > make bench-strategies   compare the tuning strategies, with curves of the best so far
# > make mpi            the plug-in that distributes tuning over ranks of mpirun (needs mpicc)
# > make bench-gpu      kernels on a GPU against torch; ARGS=--check runs them on the emulator
# > make test-gpu       on a GPU: the driver's calls, peaks, programs against the interpreter,
# >                     and a sample under compute-sanitizer, if it is there
# > make bench-setup    install those libraries
# > make install        into PREFIX (/usr/local), below DESTDIR; make uninstall removes it
# > make python         the Python package, in build/python; make wheel: as a wheel for pip
# > make clean          remove the build folder

.PHONY: bench-choice bench-fit bench-agree all tests benches demo test test-report quick unit bless sanitize faults faults-quick tsan check-layers same-code format \
        check-format fuzz fuzz-long fuzzers bench-front bench-ptx bench-asm bench-dispatch bench-database bench-functions bench-space bench-bound bench-splits bench-accelerator bench-passes bench-stripe bench-proofs bench-teml bench performance bench-loopstack bench-setup bench-peers bench-x86 bench-auto bench-strategies bench-tune bench-python bench-gpu test-gpu mpi python no-python wheel install uninstall clean help FORCE
.SECONDARY:
.DELETE_ON_ERROR:
