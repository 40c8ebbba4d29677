package ops

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// PlanWalk plans a walk over layouts of one shape. It reports false if they are empty.
func PlanWalk(s *runtime.Stream, w *kernels.Walk, g *runtime.Grid, of ...layout.Layout) (bool, error) {
	var views [kernels.Operands]View
	for i := range of {
		views[i].Layout = of[i]
	}
	return PlanViews(w, g, s.Device(), views[:len(of)])
}

// BroadcastAlong returns a layout of shape s with strides in some dimensions, broadcast along the
// others.
func BroadcastAlong(s layout.Shape, strides map[int]int) layout.Layout {
	all := make([]int, len(s))
	for d, n := range strides {
		all[d] = n
	}
	l, _ := layout.New(s, all, 0) // shapes of layouts are right
	return l
}

// RandomAccess makes a walk over n elements one whose elements can be visited in any order.
func RandomAccess(w *kernels.Walk, n int) {
	if w.Mode != kernels.Rows {
		return
	}
	w.Mode, w.N, w.Rows, w.Kind = kernels.Dims, n, 1, [kernels.Operands]dsl.ConstInt{}
	w.Wide = LargestDividend(w) > math.MaxInt32
}

// OnePerThread makes a walk over n elements one in which each thread has one, whatever
// row it is in.
func OnePerThread(w *kernels.Walk, g *runtime.Grid, info *runtime.Info, n int) {
	RandomAccess(w, n)
	threads := min(MaxThreads, info.MaxThreads, info.ThreadsPerUnit)
	w.Part = threads
	*g = runtime.Grid{Blocks: runtime.Dim3{X: (n + threads - 1) / threads}, Threads: runtime.Dim3{X: threads}}
}
