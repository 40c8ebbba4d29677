package grid

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// Diffuse makes steps of a stencil in one launch: each step reads what all blocks have written in
// the one before. x and y change roles, and out gets the result.
//
//kiln:kernel
func Diffuse(t dsl.Thread, out, x, y []int32, steps int) {
	for step := range steps {
		from, to := x, y
		if step%2 == 1 {
			from, to = y, x
		}
		for i := t.Global(); i < len(x); i += t.GlobalSize() {
			left, right := (i+len(x)-1)%len(x), (i+1)%len(x)
			to[i] = from[left] + 2*from[i] - from[right]
		}
		t.SyncGrid()
	}
	last := x
	if steps%2 == 1 {
		last = y
	}
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		out[i] = last[len(last)-1-i]
	}
}

// Normalise divides numbers by their sum, which the blocks find together. Each block keeps its sum in
// shared memory meanwhile, and has its share in out behind the quotients.
//
//kiln:kernel
func Normalise(t dsl.Thread, out, part []float32, x []float32) {
	own := dsl.Shared[[1]float32](t)
	var sum float32
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		sum += x[i]
	}
	sum = dsl.BlockSum(t, sum)
	if t.ThreadX() == 0 {
		own[0] = sum
		part[t.BlockX()] = sum
	}
	t.SyncGrid()
	var all float32
	for b := range t.GridDimX() {
		all += part[b]
	}
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		out[i] = x[i] / all
	}
	if t.ThreadX() == 0 {
		out[len(x)+t.BlockX()] = own[0] / all
	}
}

// Until halves numbers until the largest one is below limit, which no thread can know alone.
//
//kiln:kernel
func Until(t dsl.Thread, x []int32, most []int32, limit int32, rounds []int32) {
	for round := range len(most) {
		for i := t.Global(); i < len(x); i += t.GlobalSize() {
			x[i] /= 2
			dsl.AtomicMax(&most[round], x[i])
		}
		t.SyncGrid()
		if most[round] < limit {
			if t.Global() == 0 {
				rounds[0] = int32(round + 1)
			}
			return
		}
	}
}

// Racy lacks a barrier before its last line.
//
//kiln:kernel
func Racy(t dsl.Thread, x []int32) {
	x[t.Global()] = 1
	t.SyncGrid()
	x[t.Global()]++
	if t.Global() == 0 {
		x[0] = x[t.GlobalSize()-1]
	}
}

// Left races: which blocks return before the barrier depends on when they read what the last one writes. The
// compiler takes what all threads read in one place for the same.
//
//kiln:kernel
func Left(t dsl.Thread, x []int32) {
	if t.BlockX() == t.GridDimX()-1 {
		x[0] = 1
	}
	if x[0] == 1 {
		return
	}
	t.SyncGrid()
}
