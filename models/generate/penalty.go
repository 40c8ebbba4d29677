package generate

import (
	"math"
	"slices"
)

// adjusted returns the tokens whose logits change, in the order of ids.
func (s *Sampler) adjusted() []int32 {
	if s.changed != nil {
		return s.changed
	}
	s.dry = s.repetitions()
	list := []int32{}
	for id := range s.o.LogitBias {
		list = append(list, id)
	}
	if s.o.RepetitionPenalty != 1 {
		for id := range s.seen {
			list = append(list, id)
		}
	}
	for id := range s.counts {
		list = append(list, id)
	}
	for id := range s.dry {
		list = append(list, id)
	}
	slices.Sort(list)
	s.changed = slices.Compact(list)
	return s.changed
}

// adjust returns the logit of a token after bias and penalties. What it computes in is float32 on
// every path, so that all agree. It is for tokens of adjusted, and returns others as they are.
func (s *Sampler) adjust(id int32, z float32) float32 {
	if bias, ok := s.o.LogitBias[id]; ok {
		z += float32(bias)
	}
	if r := float32(s.o.RepetitionPenalty); r != 1 && s.seen[id] > 0 {
		if z > 0 {
			z /= r
		} else {
			z *= r
		}
	}
	if n, ok := s.dry[id]; ok {
		z -= float32(min(s.o.DRYMultiplier*math.Pow(s.o.DRYBase, float64(n-s.o.DRYAllowedLength)), 1e30))
	}
	if n := s.counts[id]; n > 0 {
		z -= float32(float64(n)*s.o.FrequencyPenalty + s.o.PresencePenalty)
	}
	return z
}

// repetitions returns for each token that would continue a repetition of at least DRYAllowedLength
// tokens the length of the longest.
func (s *Sampler) repetitions() map[int32]int {
	if s.o.DRYMultiplier == 0 {
		return nil
	}
	h := s.history
	if n := s.o.DRYLastN; n > 0 && len(h) > n {
		h = h[len(h)-n:]
	}
	most := s.unbroken(h)
	if most < s.o.DRYAllowedLength {
		return nil
	}
	found := map[int32]int{}
	for i, n := range suffixMatches(h) {
		if n = min(n, most); n >= s.o.DRYAllowedLength {
			next := h[i+1]
			found[next] = max(found[next], n)
		}
	}
	return found
}

// unbroken is how many tokens at the end have no breaker among them.
func (s *Sampler) unbroken(h []int32) int {
	if s.breaks == nil {
		return len(h)
	}
	for n := range h {
		if s.breaks(h[len(h)-1-n]) {
			return n
		}
	}
	return len(h)
}

// suffixMatches returns for each i but the last the length of the longest common suffix of h[:i+1]
// and h: the Z function of the reversed sequence, in linear time (Gusfield, "Algorithms on strings,
// trees and sequences", 1997, section 1.3).
func suffixMatches(h []int32) []int {
	n := len(h)
	if n == 0 {
		return nil
	}
	at := func(i int) int32 { return h[n-1-i] }
	z := make([]int, n)
	left, right := 0, 0
	for i := 1; i < n; i++ {
		if i < right {
			z[i] = min(right-i, z[i-left])
		}
		for i+z[i] < n && at(z[i]) == at(i+z[i]) {
			z[i]++
		}
		if i+z[i] > right {
			left, right = i, i+z[i]
		}
	}
	slices.Reverse(z)
	return z[:n-1]
}
