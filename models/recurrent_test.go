package models

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// TestStateRows feeds sequences to a layer with states, of which there come more than there are
// rows: they keep theirs, and those of closed sequences and of garbage are used again.
func TestStateRows(t *testing.T) {
	m := &LM{Config: &Config{VocabSize: 9}, Device: cpu(t)}
	sequence := func() *Sequence { return &Sequence{lm: m, layers: []layerState{&fixed{}}} }
	states := newStateRows(2)
	// feed adds to the states of sequences how many tokens each has got.
	feed := func(list []*Sequence, ids ...[]int32) {
		t.Helper()
		b, err := m.newBatch(list, ids)
		require.NoError(t, err)
		on, err := b.recurrent(0, tensor.BF16, states)
		require.NoError(t, err)
		require.LessOrEqual(t, on.States(), states.t.Size(0))
		require.Equal(t, tensor.F32, states.t.DType())
		for i, s := range list {
			row := states.t.Narrow(0, s.stateRow(), 1)
			if s.n == 0 {
				require.NoError(t, row.Assign(tensor.Zeros(m.Device, tensor.F32, 1, 2)))
			}
			require.NoError(t, row.Assign(row.AddScalar(float64(len(ids[i])))))
			s.n += len(ids[i])
			require.Equal(t, s.n, s.layers[0].oldest())
		}
	}
	has := func(s *Sequence, n float32) {
		t.Helper()
		require.Equal(t, []float32{n, n}, floats(t, states.t.Get(s.stateRow())))
	}
	a, b, c := sequence(), sequence(), sequence()
	feed([]*Sequence{a}, []int32{1, 2})
	feed([]*Sequence{b, a}, []int32{1}, []int32{1})
	feed([]*Sequence{c}, []int32{1, 2, 3, 4})
	has(a, 3)
	has(b, 1)
	has(c, 4)
	require.Equal(t, 3, m.rows.count)

	require.ErrorIs(t, c.Truncate(3), ErrSequence)
	require.ErrorContains(t, c.Truncate(3), "layer 0 keeps those from 4 on")
	require.NoError(t, c.Truncate(4))
	require.ErrorIs(t, c.layers[0].truncate(3), tensor.ErrRange)
	require.NoError(t, a.Truncate(0))
	require.Equal(t, []int{0}, m.rows.free)
	feed([]*Sequence{a, c}, []int32{1}, []int32{1})
	has(a, 1)
	has(c, 5)
	require.Equal(t, 3, m.rows.count)
	a.Close()
	a.Close()
	require.Len(t, m.rows.free, 1)

	b = nil // garbage
	require.Eventually(t, func() bool {
		runtime.GC()
		m.rows.mu.Lock()
		defer m.rows.mu.Unlock()
		return len(m.rows.free) == 2
	}, time.Minute, time.Millisecond)
	has(c, 5)
}
