package opencl

import (
	"fmt"
	"strings"

	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// BuildOptions are what clBuildProgram needs for results that are the same as
// elsewhere: without the flag a quotient of 32-bit floats may be 2.5 ulp off.
const BuildOptions = "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"

const noSubgroups = "OpenCL C 1.2 has no sub-groups; exchange values through shared memory and t.Sync"

// Language is OpenCL C.
var Language = &cfamily.Language{
	Kind: target.OpenCL,
	Rows: rows,
	MissingOps: map[ir.Op]string{
		ir.OpWarpBarrier: noSubgroups, ir.OpBallot: noSubgroups, ir.OpAny: noSubgroups, ir.OpAll: noSubgroups,
		ir.OpShflIdx: noSubgroups, ir.OpShflUp: noSubgroups, ir.OpShflDown: noSubgroups, ir.OpShflXor: noSubgroups, ir.OpMMA: cfamily.NoUnit,
	},
	PlainC:  true,
	Apart:   true,
	Helpers: helpers,
	Head:    func(target.Target) string { return "#pragma OPENCL FP_CONTRACT OFF\n" },
	Pointer: func(elem string, space ir.Space, restrict bool) string {
		if restrict {
			return spaces[space] + " " + elem + "* restrict"
		}
		return spaces[space] + " " + elem + "*"
	},
	Shared:  func(elem, name string) string { return fmt.Sprintf("__local %s %s;", elem, name) },
	Dynamic: new(cfamily.Param), // the last one: clSetKernelArg says how long it is, with a size and no value
	Table:   func(elem, name string) string { return fmt.Sprintf("__constant %s %s", elem, name) },
	Zero:    "{p} = ({t}){0};",
	Words:   words,
	Entry:   entry,
}

// spaces are the address spaces as OpenCL calls them.
var spaces = map[ir.Space]string{ir.Global: "__global", ir.Shared: "__local", ir.Local: "__private", ir.Constant: "__constant"}

// words are names of types and of functions that rows call.
var words = strings.Fields(`barrier mem_fence mul_hi clz popcount exp2 log2 sin cos tanh fma sqrt fabs floor ceil trunc rint copysign
	as_uint as_float as_ulong as_double event_t image1d_t image2d_t image3d_t sampler_t pipe read_only write_only read_write
	kernel constant complex INFINITY NAN MAXFLOAT HUGE_VAL HUGE_VALF ptrdiff_t intptr_t uintptr_t`)

// entry declares the kernel.
func entry(_ target.Target, name string, params []cfamily.Param, _ ir.Bounds) (string, []string) {
	list, body := cfamily.Declare(params)
	return fmt.Sprintf("__kernel void %s(%s)", name, strings.Join(list, ", ")), body
}
