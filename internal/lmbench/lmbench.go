package lmbench

import (
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gokiln/kiln/models"
	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/quantized"
	"github.com/gokiln/kiln/tensor"
)

// Work is what is measured.
type Work struct {
	Prompt int // tokens of each prompt, at least 1
	Tokens int // that are generated behind it, at least 1
	Batch  int // sequences, at least 1
}

// Rates are what was measured, medians.
type Rates struct {
	Prompt, Decode float64       // tokens a second, of all sequences together
	Host           time.Duration // until a step's launches are made
	Mallocs        float64       // of Go, for a step
	Replayed       error         // why the last step was no launch of a graph, nil if it was
}

// Measure feeds prompts and generates tokens, once without taking the time.
func Measure(m *models.LM, w Work) (r Rates, err error) {
	n := w.Batch
	for range 2 {
		list, ids := make([]*models.Sequence, n), make([][]int32, n)
		var prompt, decode, host []time.Duration
		for i := range list {
			list[i] = m.NewSequence()
			ids[i] = []int32{int32(i % m.Config.VocabSize)}
			p := make([]int32, w.Prompt)
			for j := range p {
				p[j] = int32((i*31 + j*7) % m.Config.VocabSize)
			}
			took, _, err := step(m, list[i:i+1], [][]int32{p})
			if err != nil {
				return r, err
			}
			prompt = append(prompt, took)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range w.Tokens {
			took, own, err := step(m, list, ids)
			if err != nil {
				return r, err
			}
			decode, host = append(decode, took), append(host, own)
		}
		runtime.ReadMemStats(&after)
		r = Rates{Prompt: float64(w.Prompt) / median(prompt).Seconds(), Decode: float64(n) / median(decode).Seconds(), Host: median(host)}
		r.Mallocs = float64(after.Mallocs-before.Mallocs) / float64(w.Tokens)
		r.Replayed = m.Replayed()
		for _, s := range list {
			s.Close()
		}
	}
	return r, nil
}

// Step feeds ids, and returns the likeliest next ones, which are on the device.
func Step(m *models.LM, list []*models.Sequence, ids [][]int32) *tensor.Tensor {
	next, _ := m.StepThen(list, ids, "likeliest", nil, func(logits, _ *tensor.Tensor) *tensor.Tensor {
		return logits.ArgMax(-1).Cast(tensor.I64)
	})
	return next
}

// step is [Step] with what comes next fed next time: what it took, and how long the host was busy with
// it.
func step(m *models.LM, list []*models.Sequence, ids [][]int32) (took, host time.Duration, err error) {
	begin := time.Now()
	next := Step(m, list, ids)
	host = time.Since(begin)
	chosen, err := tensor.ToSlice[int64](next)
	if err == nil && len(ids[0]) == 1 {
		for i, id := range chosen {
			ids[i][0] = int32(id)
		}
	}
	return time.Since(begin), host, err
}

// median is that of some times.
func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}

// WeightBytes is how many bytes of weights a token reads: all but an embedding that is none of scores.
func WeightBytes(m *models.LM) (n float64, err error) {
	list, err := nn.List(m.Net)
	tied := m.Config.TieEmbedding == nil || *m.Config.TieEmbedding
	for _, p := range list {
		if !tied && strings.Contains(p.Name, "embed_tokens") {
			continue
		}
		part := 1.
		if e := m.Config.Experts; e > 0 && strings.Contains(p.Name, "experts.") {
			part = float64(m.Config.ExpertsUsed) / float64(e)
		}
		if q, ok := p.Quantized().(*quantized.Tensor); ok {
			n += part * float64(q.Size())
			continue
		}
		n += part * float64(p.Count()*m.DType.Size())
	}
	return n, err
}

// CopyRate is how many bytes a second a copy reads.
func CopyRate(d *tensor.Device) (float64, error) {
	const n, times = 1 << 26, 10
	x := tensor.Zeros(d, tensor.F32, n)
	best := time.Duration(1 << 62)
	for range times {
		begin := time.Now()
		y := x.Copy()
		if err := y.Err(); err != nil {
			return 0, err
		}
		if err := d.Synchronize(); err != nil {
			return 0, err
		}
		best = min(best, time.Since(begin))
		if err := y.Free(); err != nil {
			return 0, err
		}
	}
	return 2 * 4 * n / best.Seconds(), nil
}
