package interp

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// lanesOf lists a set by way of its bits.
func lanesOf(s laneSet) map[int]bool {
	m := map[int]bool{}
	s.expand()
	for l := int(s.lo); l < int(s.hi); l++ {
		if s.bits[l/64]>>(l%64)&1 != 0 {
			m[l] = true
		}
	}
	return m
}

// randomSet is empty, a range or sparse.
func randomSet(rng *rand.Rand) laneSet {
	var s laneSet
	lo := rng.IntN(MaxBlock)
	s.setRange(int32(lo), int32(lo+rng.IntN(MaxBlock-lo+1)))
	if rng.IntN(2) == 0 {
		var cond [MaxBlock]byte
		for i := range cond {
			cond[i] = byte(rng.IntN(2)) | byte(rng.IntN(2))<<7 // idle lanes hold anything
		}
		var no laneSet
		all := s
		all.splitBy(unsafe.Pointer(&cond), &s, &no)
	}
	return s
}

func TestLaneSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		s, u := randomSet(rng), randomSet(rng)
		have, other := lanesOf(s), lanesOf(u)
		require.Equal(t, len(have), s.count())

		sum := s
		sum.add(&u)
		want := map[int]bool{}
		for _, m := range []map[int]bool{have, other} {
			for l := range m {
				want[l] = true
			}
		}
		require.Equal(t, want, lanesOf(sum))

		lo := rng.IntN(MaxBlock)
		hi := lo + rng.IntN(MaxBlock-lo+1)
		var in, out laneSet
		s.split(int32(lo), int32(hi), &in, &out)
		inside, outside := lanesOf(in), lanesOf(out)
		require.Equal(t, len(have), len(inside)+len(outside))
		for l := range have {
			require.Equal(t, l >= lo && l < hi, inside[l], "lane %d of %d to %d", l, lo, hi)
			require.Equal(t, !inside[l], outside[l])
		}
		if s.sparse {
			checkLists(t, &s, have)
		}
	}
}

// checkLists compares the list of a sparse set and its spans with its lanes.
func checkLists(t *testing.T, s *laneSet, have map[int]bool) {
	idx := s.list(nil)
	require.Len(t, idx, len(have))
	for i, l := range idx {
		require.True(t, have[int(l)] && (i == 0 || idx[i-1] < l))
	}
	covered, end := 0, 0
	for _, sp := range s.cover(nil) {
		require.True(t, sp.lo > end || end == 0, "spans are apart")
		require.Zero(t, sp.n%group)
		end = sp.lo + sp.n
		for l := sp.lo; l < end; l++ {
			covered += int(b2u(have[l]))
		}
	}
	require.Equal(t, len(have), covered)
}
