package cpu

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/gokiln/kiln/compiler/amd64/image"
	"github.com/gokiln/kiln/compiler/interp"
	"github.com/gokiln/kiln/runtime/internal/cpu/native"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// nativeByDefault says whether native code is used where KILN_CPU does not choose
// an engine and the processor has what it takes.
const nativeByDefault = true

// engine is what runs kernels.
type engine struct {
	arch string // of native code, "" for the interpreter
	warp int
	why  string // the interpreter was not chosen but is all there is

	// idle has kernels loaded and not run, so that no processor has to be one for them.
	idle   bool
	packed bool // of those, that the processor has instructions for products of packed factors
}

// choice is an engine by its name.
type choice struct {
	name string
	engine
}

// engines are the values of KILN_CPU and what may be behind "cpu:" in the name of a
// device. Warps of the interpreter that are not 32 serve to compare it with native
// code, which has warps of 8 or 16. Those for records stand for processors that this one need
// not be: operations choose the kernels that they would choose there, and nothing runs.
var engines = []choice{
	{"avx512", engine{arch: native.ArchAVX512, warp: native.WarpSize(native.ArchAVX512)}},
	{"avx2", engine{arch: native.ArchAVX2, warp: native.WarpSize(native.ArchAVX2)}},
	{"interp", engine{warp: interp.WarpSize}},
	{"interp16", engine{warp: 16}},
	{"interp8", engine{warp: 8}},
	{"avx512-record", engine{arch: native.ArchAVX512, warp: native.WarpSize(native.ArchAVX512), idle: true}},
	{"avx2-record", engine{arch: native.ArchAVX2, warp: native.WarpSize(native.ArchAVX2), idle: true}},
	{"amx-record", engine{arch: native.ArchAVX512, warp: native.WarpSize(native.ArchAVX512), idle: true, packed: true}},
}

// chooseEngine returns the engine of a name; the empty one stands for the best.
func chooseEngine(name string) (engine, error) {
	if name == "" {
		return bestEngine(), nil
	}
	var names []string
	for _, e := range engines {
		names = append(names, e.name)
		if e.name != name {
			continue
		}
		if e.arch != "" && !e.idle {
			if err := native.Has(e.arch); err != nil {
				return engine{}, fmt.Errorf("%s code for the CPU: %w; without a choice kiln takes what there is", name, err)
			}
		}
		return e.engine, nil
	}
	return engine{}, fmt.Errorf("unknown engine %q for the CPU: want one of %s", name, strings.Join(names, ", "))
}

func bestEngine() engine {
	e := engine{warp: interp.WarpSize}
	if !nativeByDefault {
		return e
	}
	arch, ok := native.Arch()
	if !ok {
		e.why = native.Has(native.ArchAVX2).Error()
		return e
	}
	return engine{arch: arch, warp: native.WarpSize(arch)}
}

// environment reads KILN_CPU.
func environment() (engine, error) {
	name := os.Getenv("KILN_CPU")
	e, err := chooseEngine(name)
	if err != nil {
		return e, fmt.Errorf("KILN_CPU=%s: %w", name, err)
	}
	return e, nil
}

// String says for people which engine it is.
func (e engine) String() string {
	switch {
	case e.idle:
		return "native code for " + e.arch + " that is not run"
	case e.arch != "":
		return "native code for " + e.arch
	case e.why != "":
		return "interpreter, as " + e.why
	case e.warp != interp.WarpSize:
		return fmt.Sprintf("interpreter, with warps of %d threads", e.warp)
	}
	return "interpreter"
}

// describe fills in what the engine decides.
func (e engine) describe(info *driver.Info) {
	info.Driver = "kiln, " + e.String()
	info.WarpSize = e.warp
	info.Formats = []string{formatIR}
	info.Arch = runtime.GOARCH
	switch {
	case e.arch != "":
		info.Arch, info.Formats = e.arch, []string{formatNative, formatIR}
		info.ThreadsPerUnit = e.warp // a core runs one warp after the other
		info.PackedMMA = e.packed || e.arch == native.ArchAVX512 && !e.idle && native.HasPacked()
	case e.warp != interp.WarpSize:
		info.Arch = fmt.Sprintf("warp%d", e.warp)
	}
}

// Ordinal returns the number by which Open knows a device of that name, as in
// "cpu:avx2": numbers below zero, in the order of engines.
func (b *Backend) Ordinal(name string) (int, error) {
	i := slices.IndexFunc(engines, func(c choice) bool { return c.name == name })
	if i < 0 {
		_, err := chooseEngine(name)
		return 0, err
	}
	return -1 - i, nil
}

// idle is a kernel that is not run. What it would have computed cannot be read: see
// [stream.Download].
type idle struct{ *image.Image }

func (k idle) Name() string                           { return k.Kernel }
func (k idle) Shared() int                            { return k.Image.Shared }
func (k idle) Run(grid, block [3]int, _ []byte) error { return nil }

// loadIdle looks at machine code and maps none of it.
func loadIdle(container []byte) (Program, int, error) {
	img, err := image.Decode(container)
	if err != nil {
		return nil, 0, err
	}
	return idle{img}, img.Warp, nil
}
