package generate

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
)

// Stream is a generation of a [Batch]. It does not wait for whoever reads it.
type Stream struct {
	ctx    context.Context
	cancel context.CancelFunc
	seed   uint64
	more   chan struct{}

	mu    sync.Mutex
	list  []Token
	usage Usage
	over  bool
	rest  string // that was buffered when an error ended it
	err   error
}

// Seed is the seed of the draws.
func (s *Stream) Seed() uint64 { return s.seed }

// Usage is what the generation took so far.
func (s *Stream) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usage
}

// Close ends the generation, if it goes on.
func (s *Stream) Close() { s.cancel() }

// Text waits for the end of the generation and returns the text.
func (s *Stream) Text() (string, error) {
	var b strings.Builder
	for tok, err := range s.Tokens() {
		b.WriteString(tok.Text)
		if err != nil {
			return b.String(), err
		}
	}
	return b.String(), nil
}

// Tokens gives one token after the other, as [Run.Tokens] does. Reading that stops early ends the
// generation.
func (s *Stream) Tokens() iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		defer s.cancel()
		for {
			s.mu.Lock()
			list, over, err := s.list, s.over, s.err
			s.list = nil
			s.mu.Unlock()
			for _, tok := range list {
				if !yield(tok, nil) {
					return
				}
			}
			if over {
				if err != nil {
					yield(Token{Choice: Choice{ID: -1}, Text: s.rest}, fmt.Errorf("generate: %w", err))
				}
				return
			}
			<-s.more
		}
	}
}

// add passes on a token.
func (s *Stream) add(tok Token, u Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list, s.usage = append(s.list, tok), u
	s.rouse()
}

// end passes on why there are no more.
func (s *Stream) end(a *answer, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.rest = a.rest()
	}
	s.usage, s.over, s.err = a.usage, true, err
	s.cancel()
	s.rouse()
}

func (s *Stream) rouse() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}
