package cuda

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// Language is CUDA C++.
var Language = &cfamily.Language{
	Kind:       target.CUDA,
	Rows:       rows,
	MissingOps: missing,
	Helpers:    helpers,
	Head:       func(target.Target) string { return "" },
	Pointer: func(elem string, space ir.Space, restrict bool) string {
		switch {
		case space == ir.Constant:
			return "const " + elem + "*"
		case restrict:
			return elem + "* __restrict__"
		}
		return elem + "*"
	},
	Shared: func(elem, name string) string { return fmt.Sprintf("__shared__ __align__(16) %s %s;", elem, name) },
	Table:  func(elem, name string) string { return fmt.Sprintf("__device__ const %s %s", elem, name) },
	Whole:  "extern __shared__ __align__(16) unsigned char " + cfamily.WholeName + "[];",
	Words:  []string{cfamily.WholeName},
	Zero:   "{p} = {t}{};",
	Entry:  entry,
}

// entry declares the kernel. The driver passes the arguments as one block in which
// each has its natural alignment, as the compiler lays them out.
func entry(_ target.Target, name string, params []cfamily.Param, launch ir.Bounds) (string, []string) {
	list, body := cfamily.Declare(params)
	bounds := "1024"
	if launch.Threads > 0 {
		bounds = strconv.Itoa(launch.Threads)
	}
	if launch.Blocks > 0 {
		bounds += ", " + strconv.Itoa(launch.Blocks)
	}
	return fmt.Sprintf("extern \"C\" __global__ void __launch_bounds__(%s) %s(%s)", bounds, name, strings.Join(list, ", ")), body
}
