package ops

import (
	"fmt"
	"math"
	"reflect"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/runtime"
)

var scanTiles = family{name: "scan", kernel: jit.Of(kernels.ScanTiles[float32, float32]), params: func(t, c reflect.Type) []reflect.Type {
	ts := reflect.SliceOf(t)
	return []reflect.Type{ts, ts, reflect.SliceOf(c), uint32s, foldType, intType, intType, intType, function(1, c, c), function(2, c, c)}
}}

const (
	tileKept = 16      // elements that a thread has of a tile of a scan
	tiledRow = 1 << 14 // rows from this size on are scanned in tiles
)

// rowTiles is how a scan goes through rows in tiles.
type rowTiles struct {
	fold                 kernels.Fold
	grid                 runtime.Grid
	tiles, groups, group int // of a row; tiles of a group
}

// tile chooses that, or reports false where rows are scanned in other ways: where they
// are short, do not lie side by side, or blocks may not wait for each other.
func (l *lines) tile(info *runtime.Info, p *foldPlan) (c rowTiles, ok bool) {
	n := l.size()
	if !info.Cooperative || info.MaxThreads < maxThreads || p.across || n < tiledRow || l.x.Layout.Strides()[l.dim] != 1 || l.out.Layout.Strides()[l.dim] != 1 {
		return c, false
	}
	w := &c.fold
	*w = p.fold
	w.N, w.Unit, w.Block, w.Group = n, true, maxThreads, 0
	v := 16 / l.x.DType.Size()
	w.Vec, w.Keep = 1, tileKept
	if l.scanVec(w, v) {
		w.Vec = dsl.ConstInt(v)
		if l.x.DType.Size() == 2 {
			w.Keep *= 2 // as many bytes
		}
	}
	size := maxThreads * int(w.Keep)
	c.tiles = (n + size - 1) / size
	for c.group = 1; c.group < maxThreads && c.group*c.group < c.tiles; {
		c.group *= 2
	}
	c.groups = (c.tiles + c.group - 1) / c.group
	if c.groups > maxThreads || w.Rows > math.MaxInt32/c.tiles {
		return c, false
	}
	c.grid = runtime.Grid{Blocks: runtime.Dim3{X: w.Rows * c.tiles}, Threads: runtime.Dim3{X: maxThreads}}
	return c, true
}

// scanVec reports whether rows begin at multiples of v elements.
func (l *lines) scanVec(w *kernels.Fold, v int) bool {
	for d := range int(w.Outs) {
		if w.Rows > 1 && (w.XStep[d]%v != 0 || w.OutStep[d]%v != 0) {
			return false
		}
	}
	return true
}

// runTiles scans rows in tiles, and reports whether it did.
func (c *Scan) runTiles(s *runtime.Stream, l *lines, p *foldPlan) (bool, error) {
	info := infoOf(s.Device())
	how, ok := l.tile(&info, p)
	if !ok {
		return false, nil
	}
	d := l.x.DType.Compute()
	k, err := scanTiles.of(l.x.DType, d)
	if err != nil {
		return false, err
	}
	n := how.fold.Rows * (how.tiles + how.groups)
	var room scratch
	if err := room.alloc(s, n*d.Size()+8+4*(n+kernels.HeadWords)); err != nil {
		return false, fmt.Errorf("%s: %w", c.name, err)
	}
	defer room.free(s)
	carry := room.take(d.Size(), n)
	room.used = up(room.used, 4)
	ready := room.take(4, n+kernels.HeadWords)
	words := slice(dtype.U32, &ready)
	if err := words.(runtime.Slice[uint32]).ZeroAsync(s); err != nil {
		return false, err
	}
	t := d.Type()
	xh, oh := l.x.header(), l.out.header()
	return true, k.Launch(s, how.grid, slice(l.out.DType, &oh), slice(l.x.DType, &xh), slice(d, &carry), words, how.fold, how.tiles, how.groups, how.group,
		c.init.As(function(1, t, t)), c.op.As(function(2, t, t)))
}
