package generate

import (
	"math"
	"slices"

	"github.com/gokiln/kiln/models/generate/kernels"
	random "github.com/gokiln/kiln/ops/random/kernels"
)

// hostRow is logits in the memory of the host.
type hostRow struct {
	z     []float32
	scale float32 // of keys with noise; 0 for none
	key   int64
	order []entry // as top has sorted it so far, the first sorted of them
	have  int
	log   map[float32]float64 // sums that were computed, by their scale
}

// Pick chooses a token of the logits of a model, one for each token of the vocabulary. It does not
// accept it. [Sample] gives the same token for logits that are on a device.
func (s *Sampler) Pick(logits []float32) (Choice, error) {
	r := &hostRow{z: logits}
	if len(logits) == 0 {
		return Choice{}, errLogits("there are no logits")
	}
	if !s.o.greedy() {
		r.key = s.key()
		if !s.o.filters() {
			r.scale = s.o.scale()
		}
	}
	for _, z := range logits {
		if z != z {
			return Choice{}, finite(z)
		}
	}
	id, _, err := s.choose(r)
	if err != nil {
		return Choice{}, err
	}
	out := Choice{ID: id}
	if s.o.LogProbs || s.o.TopLogProbs > 0 {
		sum, _, _ := r.logSum(1)
		out.LogProb = float64(logits[id]) - sum
		plain := &hostRow{z: logits}
		for _, e := range plain.top(min(s.o.TopLogProbs, len(logits))) {
			out.Top = append(out.Top, TokenProb{e.id, float64(e.z) - sum})
		}
	}
	return out, nil
}

func (r *hostRow) size() int              { return len(r.z) }
func (r *hostRow) logit(id int32) float32 { return r.z[id] }

func (r *hostRow) logSum(scale float32) (sum, off float64, ok bool) {
	sum, ok = r.log[scale]
	if !ok {
		most := float64(slices.Max(r.z)) * float64(scale)
		for _, z := range r.z {
			sum += math.Exp(float64(z)*float64(scale) - most)
		}
		sum = math.Log(sum) + most
		if r.log == nil {
			r.log = map[float32]float64{}
		}
		r.log[scale] = sum
	}
	return sum, 1e-11, true
}

func (r *hostRow) top(n int) []entry {
	if n == 1 && r.order == nil {
		return []entry{r.first()}
	}
	if r.order == nil {
		r.order = make([]entry, len(r.z))
		for i, z := range r.z {
			r.order[i] = r.entry(i, z)
		}
	}
	if n > r.have {
		rest := r.order[r.have:]
		selectFirst(rest, n-r.have)
		slices.SortFunc(rest[:n-r.have], before)
		r.have = n
	}
	return r.order[:n]
}

func (r *hostRow) entry(i int, z float32) entry {
	return entry{int32(i), z, kernels.Key(z, uint32(i), r.scale, r.key)}
}

// first is the first token alone.
func (r *hostRow) first() entry {
	at := 0
	for i, z := range r.z {
		if z > r.z[at] {
			at = i
		}
	}
	best := r.entry(at, r.z[at])
	if r.scale == 0 {
		return best
	}
	for from := 0; from < len(r.z); from += random.PerCounter {
		best = r.firstOf(from, best)
	}
	return best
}

// firstOf is the first of best and of the tokens of one counter. Their noise is computed only if
// they may win: noise above d is of a v below 1-exp(-exp(-d)), which is less than exp(-d).
func (r *hostRow) firstOf(from int, best entry) entry {
	var words [random.PerCounter]uint32
	known := false
	for i := from; i < min(from+random.PerCounter, len(r.z)); i++ {
		z := r.z[i] * r.scale
		d := best.key - z
		d -= 1e-3 + 1e-6*(abs(best.key)+abs(z)) // more than what keys are rounded by
		if d > kernels.MaxGumbel {
			continue
		}
		if !known {
			words, known = kernels.Words(r.key, uint32(from/random.PerCounter)), true
		}
		v := kernels.Uniform(words[i-from])
		if d > 0 && float64(v) > math.Exp(float64(-d)) {
			continue
		}
		e := entry{int32(i), r.z[i], z + kernels.Noise(v)}
		if before(e, best) < 0 {
			best = e
		}
	}
	return best
}

func abs(x float32) float32 { return max(x, -x) }

// selectFirst brings the first n of a list in front, in any order: quickselect (Hoare, "Algorithm
// 65: find", 1961), the pivot being the median of three.
func selectFirst(list []entry, n int) {
	for len(list) > n && n > 0 && len(list) > 1 {
		p := pivot(list)
		i, j := 0, len(list)-1
		for i <= j {
			for before(list[i], p) < 0 {
				i++
			}
			for before(list[j], p) > 0 {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case n <= j+1:
			list = list[:j+1]
		case n >= i:
			list, n = list[i:], n-i
		default:
			return
		}
	}
}

func pivot(list []entry) entry {
	a, b, c := list[0], list[len(list)/2], list[len(list)-1]
	if before(a, b) > 0 {
		a, b = b, a
	}
	if before(b, c) > 0 {
		b = c
	}
	if before(a, b) > 0 {
		b = a
	}
	return b
}
