package hip

import (
	"fmt"
	"strings"

	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// Language is HIP C++.
var Language = &cfamily.Language{
	Kind:    target.HIP,
	Rows:    rows,
	Helpers: helpers,
	Scopes:  scopes,
	Head:    head,
	Pointer: func(elem string, space ir.Space, restrict bool) string {
		switch {
		case space == ir.Constant:
			return "const " + elem + "*"
		case restrict:
			return elem + "* __restrict__"
		}
		return elem + "*"
	},
	Shared: func(elem, name string) string { return fmt.Sprintf("__shared__ %s %s;", elem, name) },
	Table:  func(elem, name string) string { return fmt.Sprintf("__constant__ const %s %s", elem, name) },
	Whole:  "extern __shared__ __attribute__((aligned(16))) unsigned char " + cfamily.WholeName + "[];",
	Words:  []string{cfamily.WholeName},
	Zero:   "{p} = {t}{};",
	Entry:  entry,
}

// head makes the words of HIP known to a clang that has no HIP headers, and keeps
// products and sums apart. It silences the warnings about what is the Go program's own,
// such as a comparison of two equal values, which optimisation brings together.
func head(t target.Target) string {
	var b strings.Builder
	for _, word := range []string{"global", "device", "shared", "constant"} {
		fmt.Fprintf(&b, "#ifndef __%[1]s__\n#define __%[1]s__ __attribute__((%[1]s))\n#endif\n", word)
	}
	fmt.Fprintf(&b, "#define WAVE %d\n#pragma clang fp contract(off)\n", t.WarpSize)
	for _, about := range []string{"tautological-compare", "uninitialized"} {
		fmt.Fprintf(&b, "#pragma clang diagnostic ignored \"-W%s\"\n", about)
	}
	return b.String()
}

// entry declares the kernel. The driver passes the arguments as one block in which
// each has its natural alignment, as the compiler lays them out.
func entry(_ target.Target, name string, params []cfamily.Param, launch ir.Bounds) (string, []string) {
	list, body := cfamily.Declare(params)
	head, bounds := "", ""
	if launch.Threads > 0 { // CUDA's second number is another one here
		head = "#ifndef __launch_bounds__\n#define __launch_bounds__(n) __attribute__((amdgpu_flat_work_group_size(1, n)))\n#endif\n"
		bounds = fmt.Sprintf("__launch_bounds__(%d) ", launch.Threads)
	}
	return fmt.Sprintf("%sextern \"C\" __global__ void %s%s(%s)", head, bounds, name, strings.Join(list, ", ")), body
}
