//go:build !kiln_small

package shapes

import "github.com/gokiln/kiln/dsl"

// Extra is a type that only some builds have.
type Extra struct{ By int32 }

// Tagged is a kernel of some builds.
//
//kiln:kernel
func Tagged(t dsl.Thread, x []int32, e Extra) {
	if i := t.Global(); i < len(x) {
		x[i] += e.By
	}
}
