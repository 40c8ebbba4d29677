package attention

import (
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/attention/kernels"
	"github.com/gokiln/kiln/runtime"
)

var combine = ops.NewGeneric("attention", kernels.Combine[ops.T, ops.C])

// Bounds of how many blocks share the keys of a tile of rows. A split of leastTiles tiles of keys
// loads several times the bytes that it stores for [kernels.Combine], as tiles of scores have at
// least as many columns as rows; threads of that kernel go over all splits. Neither bound was
// measured on a device.
const (
	leastTiles = 4
	mostSplits = 128
)

// splits returns how many blocks share the keys of each tile of rows, of which it attends to so
// many: one where there are as many blocks as multiprocessors, and else as many as all
// multiprocessors take at a time.
func splits(info *runtime.Info, blocks, keys, size int, w *kernels.ForwardTiles) int {
	if blocks >= info.Units {
		return 1
	}
	slots := info.Units * resident(info, size, w)
	return max(1, min(slots/blocks, keys/(leastTiles*int(w.N)), mostSplits))
}

// attended returns how many keys the queries of a tile of m rows of one head attend to, at most.
// Queries stand at the end of the keys, so that there are fewer than S keys behind the first query
// of any tile.
func attended(k *kernels.Problem, f *kernels.Features, m int) int {
	if !bool(f.Bounded) || k.Left >= k.Keys {
		return k.Keys
	}
	return min(k.Keys, k.Left+min(min(k.Right, k.S)+m, k.S))
}

// resident returns how many blocks a multiprocessor takes at a time, by its threads, its registers
// if a thread has as many as it can address, and shared memory, of which a block can have about
// all.
func resident(info *runtime.Info, size int, w *kernels.ForwardTiles) int {
	threads := int(w.Down) * info.WarpSize
	if w.Bulk {
		threads += warpgroup * info.WarpSize
	}
	n := min(info.ThreadsPerUnit/threads, info.SharedPerBlock/(w.Shared()*size))
	if info.RegistersPerUnit > 0 {
		n = min(n, info.RegistersPerUnit/(threads*256))
	}
	return max(n, 1)
}

// inParts calls launch with the log-sum-exps that the kernel stores, and memory for its parts if
// several blocks share keys, of which it makes the result then.
func (p *Problem) inParts(s *runtime.Stream, out, logs ops.View, k *kernels.Problem, launch func(parts, logs runtime.SliceHeader) error) error {
	if k.Splits == 1 {
		return launch(runtime.SliceHeader{}, logs.Header())
	}
	sum, rows := logs.DType, k.Splits*k.AllRows
	var m ops.Scratch
	if err := m.Alloc(s, rows*(k.DV+1)*sum.Size()); err != nil {
		return err
	}
	defer m.Free(s)
	parts, partLogs := m.Take(sum.Size(), rows*k.DV), m.Take(sum.Size(), rows)
	if err := launch(parts, partLogs); err != nil {
		return err
	}
	n := k.AllRows * k.DV
	threads := min(ops.MaxThreads, s.Device().Info().MaxThreads)
	g := runtime.Grid{Blocks: runtime.Dim3{X: (n + threads - 1) / threads}, Threads: runtime.Dim3{X: threads}}
	d, word := p.Q.DType, lowest(sum)
	to, lse := out.Header(), logs.Header()
	return combine.Launch(s, ops.TypeArgs{T: d}, g, ops.SliceArg(d, &to), ops.SliceArg(sum, &lse), ops.SliceArg(sum, &parts), ops.SliceArg(sum, &partLogs),
		k.AllRows, k.DV, k.Splits, ops.ScalarArg(sum, &word))
}
