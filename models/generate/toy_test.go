package generate

import (
	"errors"
	"math/rand/v2"

	"github.com/gokiln/kiln/models/internal/bytetokens"
	"github.com/gokiln/kiln/tensor"
)

// toy is a model whose logits are a function of the last tokens.
type toy struct {
	dev    *tensor.Device
	vocab  int
	seed   uint64
	state  bool // sequences that forget nothing, as states of recurrent layers
	fed    int
	fails  int // the step that fails; 0 for none
	crowds int // steps of several sequences
	crowd  int // the one of them that fails; 0 for none
	memory int // steps fail whose sequences have more tokens together; 0 for any number
	steps  int
	live   int     // sequences that are open
	script []int32 // what it says in place of that, from the first position on
}

type toySequence struct {
	ids   []int32
	state bool
	last  int // before the last step, if that can be taken back
	open  bool
	of    *toy
}

func (s *toySequence) Len() int { return len(s.ids) }

func (s *toySequence) Close() {
	if s.open {
		s.of.live--
	}
	s.open = false
}

func (s *toySequence) Truncate(n int) error {
	if s.state && n != len(s.ids) && n != 0 && n != s.last {
		return errors.New("a state forgets nothing but the last step")
	}
	s.ids = s.ids[:n]
	return nil
}

func (m *toy) NewSequence() *toySequence {
	m.live++
	return &toySequence{state: m.state, open: true, of: m}
}

func (m *toy) logits(ids []int32) []float32 {
	out := make([]float32, m.vocab)
	if n := len(ids); n <= len(m.script) {
		out[m.script[n-1]] = 50
		return out
	}
	hash := m.seed
	for _, id := range ids[max(0, len(ids)-2):] {
		hash = hash*1000003 + uint64(id) + 1
	}
	r := rand.New(rand.NewPCG(hash, 1))
	for i := range out {
		out[i] = float32(r.NormFloat64()) * 2
	}
	return out
}

func (m *toy) Step(list []*toySequence, ids [][]int32) *tensor.Tensor {
	var out []float32
	for i, s := range list {
		s.last = 0
		m.feed(s, ids[i])
		out = append(out, m.logits(s.ids)...)
	}
	all := 0
	for _, s := range list {
		all += len(s.ids)
	}
	if len(list) > 1 {
		if m.crowds++; m.crowds == m.crowd || m.memory > 0 && all > m.memory {
			return tensor.Fail("toy", errors.New("planted"))
		}
	}
	return m.result(out, len(list))
}

func (m *toy) StepAll(s *toySequence, ids []int32) *tensor.Tensor {
	var out []float32
	s.last = len(s.ids)
	for i := range ids {
		m.feed(s, ids[i:i+1])
		out = append(out, m.logits(s.ids)...)
	}
	return m.result(out, len(ids))
}

func (m *toy) feed(s *toySequence, ids []int32) {
	if !s.open || len(ids) == 0 {
		panic("a sequence is used wrongly")
	}
	s.ids = append(s.ids, ids...)
	m.fed += len(ids)
}

func (m *toy) result(out []float32, n int) *tensor.Tensor {
	if m.steps++; m.steps == m.fails {
		return tensor.Fail("toy", errors.New("planted"))
	}
	return tensor.From(m.dev, out, n, m.vocab)
}

// eos is the token that ends texts of the tests.
const eos = bytetokens.EOS
