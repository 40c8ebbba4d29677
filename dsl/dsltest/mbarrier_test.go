package dsltest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
)

// ring is a pipeline between two warps: one loads tiles to slots, the other adds them up. With
// early arrivals the slots are free one phase before they are.
func ring(t dsl.Thread, out, x []int32, steps int) {
	const slots, n = 3, 8
	full := dsl.Shared[[slots]dsl.MBarrier](t)
	empty := dsl.Shared[[slots]dsl.MBarrier](t)
	tiles := dsl.Shared[[slots][n]int32](t)
	if t.ThreadX() == 0 {
		for s := range slots {
			full[s].Init(n)
			empty[s].Init(n)
		}
	}
	t.Sync()
	i := t.ThreadX() % n
	sum := int32(0)
	for k := range steps {
		s, phase := k%slots, k/slots
		if t.ThreadX() < n {
			empty[s].Wait(t, phase+1)
			tiles[s][i] = x[k*n+i]
			full[s].Arrive()
		} else {
			full[s].Wait(t, phase)
			sum += tiles[s][n-1-i]
			empty[s].Arrive()
		}
	}
	t.Sync()
	if t.ThreadX() >= n {
		out[i] = sum
	}
}

func TestMBarrier(t *testing.T) {
	for _, steps := range []int{0, 1, 2, 3, 4, 7, 50} {
		x, out, want := make([]int32, 8*steps), make([]int32, 8), make([]int32, 8)
		for k := range x {
			x[k] = int32(k*k + 1)
			want[7-k%8] += x[k]
		}
		for _, warp := range []int{4, 8} {
			require.NoError(t, dsltest.Run(dsl.D1(1), dsl.D1(16), func(t dsl.Thread) { ring(t, out, x, steps) }, dsltest.WarpSize(warp)))
			require.Equal(t, want, out)
		}
	}
}

func TestMBarrierHangs(t *testing.T) {
	err := dsltest.Run(dsl.D1(1), dsl.D1(4), func(t dsl.Thread) {
		b := dsl.Shared[dsl.MBarrier](t)
		if t.ThreadX() == 0 {
			b.Init(4)
		}
		t.Sync()
		if t.ThreadX() > 0 {
			b.Arrive()
			b.Wait(t, 0)
		}
	})
	require.ErrorContains(t, err, "for a phase that nobody completes, and thread (0,0,0) has returned")
	for want, use := range map[string]func(b *dsl.MBarrier){
		"more arrivals at a dsl.MBarrier": func(b *dsl.MBarrier) { *b = dsl.MBarrier{}; b.Arrive() },
		"dsl.MBarrier of 0 arrivals":      func(b *dsl.MBarrier) { b.Init(0) },
		"expects less than no bytes":      func(b *dsl.MBarrier) { b.Init(1); b.ArriveExpect(-1) },
	} {
		err := dsltest.Run(dsl.D1(1), dsl.D1(1), func(t dsl.Thread) { use(dsl.Shared[dsl.MBarrier](t)) })
		require.ErrorContains(t, err, want)
	}
}
