package dump

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/target"
)

// What NVIDIA's assembler says with -v; the driver's linker uses the same words.
var (
	usedRegisters = regexp.MustCompile(`Used (\d+) registers`)
	usedShared    = regexp.MustCompile(`(\d+)(?:\+\d+)? bytes smem`)
	stackFrame    = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
)

// ParseLog reads what a kernel needs out of the log of NVIDIA's assembler.
func ParseLog(log string) Resources {
	var r Resources
	if m := usedRegisters.FindStringSubmatch(log); m != nil {
		r.Known, r.Registers = true, number(m[1])
	}
	if m := stackFrame.FindStringSubmatch(log); m != nil {
		r.Local, r.SpillStores, r.SpillLoads = number(m[1]), number(m[2]), number(m[3])
	}
	if m := usedShared.FindStringSubmatch(log); m != nil {
		r.Shared = number(m[1])
	}
	return r
}

func number(s string) int {
	n, _ := strconv.Atoi(s) // digits only
	return n
}

// PTXAS returns a function for [Input.Assemble] that runs NVIDIA's assembler,
// nil if there is none: the file that KILN_PTXAS names, or ptxas in the path.
func PTXAS(t target.Target) func(*compiler.Artifact) (string, error) {
	if t.Kind != target.PTX {
		return nil
	}
	tool := os.Getenv("KILN_PTXAS")
	if tool == "" {
		tool = "ptxas"
	}
	tool, err := exec.LookPath(tool)
	if err != nil {
		return nil
	}
	return func(art *compiler.Artifact) (string, error) { return assemble(tool, t, art) }
}

func assemble(tool string, t target.Target, art *compiler.Artifact) (log string, err error) {
	dir, err := os.MkdirTemp("", "kiln-dump")
	if err != nil {
		return "", fmt.Errorf("assembling %s: %w", art.Kernel, err)
	}
	defer os.RemoveAll(dir)
	in := filepath.Join(dir, "kernel.ptx")
	if err := os.WriteFile(in, art.Code, 0o600); err != nil {
		return "", fmt.Errorf("assembling %s: %w", art.Kernel, err)
	}
	cmd := exec.CommandContext(context.Background(), tool, "-v", "-arch="+t.Arch, "-o", filepath.Join(dir, "kernel.cubin"), "kernel.ptx")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s on the code of %s: %w", filepath.Base(tool), art.Kernel, err)
	}
	return string(out), nil
}

// smLimits are the limits of a multiprocessor, from the table of technical
// specifications by compute capability in NVIDIA's CUDA programming guide. All
// have 65536 registers, given out to warps by 256.
var smLimits = []struct{ cc, warps, blocks int }{
	{70, 64, 32}, {75, 32, 16}, {80, 64, 32}, {86, 48, 16}, {87, 48, 16}, {89, 48, 24},
	{90, 64, 32}, {110, 48, 24}, {120, 48, 24},
}

const (
	smRegisters   = 65536
	registerUnit  = 256 // registers of a warp are given out by
	warpUnit      = 4   // warps that fit by registers are rounded down to
	reservedBytes = 1 << 10
)

// Occupancy is how much of a multiprocessor blocks of one size fill.
type Occupancy struct {
	Threads  int    // of a block
	Blocks   int    // resident at once
	Warps    int    // resident at once
	MaxWarps int    // that a multiprocessor can have
	Limit    string // what keeps more blocks out
}

// Occupancies estimates the occupancy for the usual block sizes. It is empty
// for targets without multiprocessors and before registers are known.
func Occupancies(t target.Target, r Resources) []Occupancy {
	if t.Kind != target.PTX || !r.Known {
		return nil
	}
	var out []Occupancy
	for threads := 64; threads <= t.MaxThreads; threads *= 2 {
		out = append(out, occupancy(t, r, threads))
	}
	return out
}

func occupancy(t target.Target, r Resources, threads int) Occupancy {
	lim := smLimits[0]
	for _, l := range smLimits {
		if l.cc <= t.CC {
			lim = l
		}
	}
	warps := (threads + t.WarpSize - 1) / t.WarpSize
	o := Occupancy{Threads: threads, MaxWarps: lim.warps, Blocks: lim.blocks, Limit: "blocks"}
	lower := func(blocks int, why string) {
		if blocks < o.Blocks {
			o.Blocks, o.Limit = blocks, why
		}
	}
	lower(lim.warps/warps, "threads")
	if r.Registers > 0 {
		perWarp := (r.Registers*t.WarpSize + registerUnit - 1) / registerUnit * registerUnit
		fit := smRegisters / perWarp / warpUnit * warpUnit
		lower(fit/warps, "registers")
	}
	if r.Shared > 0 {
		total, each := t.MaxShared, r.Shared
		if t.CC >= 80 { // the system keeps some of each block's share
			total, each = total+reservedBytes, each+reservedBytes
		}
		lower(total/each, "shared memory")
	}
	o.Warps = o.Blocks * warps
	return o
}

// Percent is the share of the warps that a multiprocessor can have.
func (o Occupancy) Percent() int { return (100*o.Warps + o.MaxWarps/2) / o.MaxWarps }
