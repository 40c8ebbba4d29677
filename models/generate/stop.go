package generate

import (
	"errors"
	"strings"

	"github.com/gokiln/kiln/tokenizers"
)

// pieces makes text of tokens and ends it at stop strings.
type pieces struct {
	stream *tokenizers.Stream
	stops  []string
	held   string // text that may become a stop string
	ended  bool
}

// next returns the text that is certain with a token, and whether a stop string ended it.
func (p *pieces) next(id int32) (text string, stopped bool, err error) {
	part, err := p.stream.Next(id)
	if err != nil && !errors.Is(err, tokenizers.ErrNoToken) { // logits may be of more ids than there are
		return "", false, err
	}
	text, stopped = p.add(part)
	return text, stopped, nil
}

// add returns what cannot be a part of a stop string any more.
func (p *pieces) add(part string) (text string, stopped bool) {
	p.held += part
	at, end := len(p.held), len(p.held)+1
	for _, stop := range p.stops {
		// The one that is complete first, so that it does not matter how text is cut to pieces.
		if i := strings.Index(p.held, stop); i >= 0 && (i+len(stop) < end || i+len(stop) == end && i < at) {
			at, end, stopped = i, i+len(stop), true
		}
	}
	if !stopped {
		at -= p.open()
	}
	text, p.held = p.held[:at], p.held[at:]
	if stopped {
		p.held, p.ended = "", true
	}
	return text, stopped
}

// open is the length of the longest end of held that a stop string begins with.
func (p *pieces) open() int {
	most := 0
	for _, stop := range p.stops {
		for n := min(len(stop)-1, len(p.held)); n > most; n-- {
			if strings.HasSuffix(p.held, stop[:n]) {
				most = n
			}
		}
	}
	return most
}

// flush returns the buffered text, at the end. A stop string may be completed by the rest of a
// character that never came to its end.
func (p *pieces) flush() string {
	if p.ended {
		return ""
	}
	part, err := p.stream.Flush()
	if err != nil {
		part = ""
	}
	text, _ := p.add(part)
	text += p.held
	p.held, p.ended = "", true
	return text
}
