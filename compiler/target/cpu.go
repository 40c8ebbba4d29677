package target

import (
	"fmt"
	"strconv"
	"strings"
)

// Native is the kind of target for machine code of the CPU, written
// cpu:x86-64-v4. A warp is a vector register of 32-bit lanes.
const Native = "cpu"

// nativeTargets are the levels of x86-64 (System V ABI, micro-architecture levels)
// that code is made for. Limits are those of the interpreter, which runs what
// native code does not.
func nativeTargets() []Target {
	out := make([]Target, len(levels))
	for i, l := range levels {
		out[i] = Interpreter(l.lanes)
		out[i].Kind, out[i].Arch = Native, l.arch
	}
	return out
}

var levels = []struct {
	arch, alias string
	lanes       int
}{
	{"x86-64-v3", "amd64:avx2", 8},
	{"x86-64-v4", "amd64:avx512", 16},
}

// Interpreter returns the interpreter's target with warps of that many threads: 32
// is [CPU]; others run what native code of that width runs, or are compared with it.
func Interpreter(warp int) Target {
	t := CPU
	t.WarpSize = warp
	return t
}

// interpreterName is how the interpreter's targets are written: "cpu", and with
// other warps "cpu:warp16".
func interpreterName(warp int) string {
	if warp == CPU.WarpSize {
		return "cpu"
	}
	return "cpu:warp" + strconv.Itoa(warp)
}

// parseCPU reads the targets of the CPU that are no kind and architecture.
func parseCPU(s string) (t Target, ok bool) {
	for _, l := range levels {
		if s == l.alias {
			s = Native + ":" + l.arch
			break
		}
	}
	if s == "cpu" {
		return CPU, true
	}
	for _, t := range nativeTargets() {
		if s == t.String() {
			return t, true
		}
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(s, "cpu:warp")); err == nil && s == fmt.Sprintf("cpu:warp%d", n) &&
		n >= 4 && n <= 64 && n&(n-1) == 0 {
		return Interpreter(n), true
	}
	return Target{}, false
}

// OnCPU reports whether code for t runs on the CPU, which checks indices and
// assertions as it goes.
func (t Target) OnCPU() bool { return t.Kind == Interp || t.Kind == Native }
