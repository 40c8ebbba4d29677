package tokenizers

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gokiln/kiln/tokenizers/internal/pattern"
)

// decoder changes the parts of a text, tokens at first.
type decoder interface {
	decode(parts []string) ([]string, error)
}

// ErrNoToken says that an id is not one of the vocabulary.
var ErrNoToken = errors.New("no token has the id")

// Decode returns the text of ids, without special tokens if skipSpecial. Ids
// that have no token stand for no text; the first of them is the error, beside
// the text of the others.
func (t *Tokenizer) Decode(ids []int32, skipSpecial bool) (string, error) {
	parts := make([]string, 0, len(ids))
	var missing error
	for i, id := range ids {
		token, ok := t.decoded(id)
		switch {
		case !ok && missing == nil:
			missing = fmt.Errorf("%w %d (position %d; the vocabulary has %d)", ErrNoToken, id, i,
				t.VocabSize())
		case ok && !(skipSpecial && t.IsSpecial(id)):
			parts = append(parts, token)
		}
	}
	if t.decoder == nil {
		return strings.Join(parts, " "), missing
	}
	parts, err := t.decoder.decode(parts)
	if err != nil {
		return "", err
	}
	return strings.Join(parts, ""), missing
}

// decoded is what a decoder gets of an id: Token, but of an added token that is found in normalized
// text its normal form.
func (t *Tokenizer) decoded(id int32) (string, bool) {
	if form, ok := t.forms[id]; ok {
		return form, true
	}
	return t.Token(id)
}

func readDecoder(r raw) (decoder, error) {
	kind, err := kindOf(r)
	if err != nil {
		return nil, err
	}
	d, err := decoderOf(kind, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return d, nil
}

func decoderOf(kind string, r raw) (decoder, error) {
	switch kind {
	case "ByteLevel":
		return byteLevelDecoder{}, nil
	case "ByteFallback":
		return byteFallback{}, nil
	case "Fuse":
		return fuse{}, nil
	case "WordPiece":
		return decode(r, &wordPieceDecoder{Prefix: "##", Cleanup: true})
	case "Metaspace":
		return readMetaspace(r)
	case "BPEDecoder":
		return decode(r, &suffixDecoder{Suffix: "</w>"})
	case "Strip":
		return readStripDecoder(r)
	case "Replace":
		return readReplaceDecoder(r)
	case "CTC":
		return decode(r, &ctc{Pad: "<pad>", Delimiter: "|", Cleanup: true})
	case "Sequence":
		parts, err := sequence(r, "decoders", readDecoder)
		return decoders(parts), err
	}
	return nil, fmt.Errorf("decoder %w", ErrUnsupported)
}

type decoders []decoder

func (d decoders) decode(parts []string) ([]string, error) {
	var err error
	limit := grown(length(parts))
	for _, x := range d {
		if parts, err = x.decode(parts); err != nil {
			return nil, err
		}
		if length(parts) > limit {
			return nil, fmt.Errorf("decoders make more than %d bytes of tokens: %w", limit, ErrTooLong)
		}
	}
	return parts, nil
}

// length returns how many bytes parts have.
func length(parts []string) int {
	n := 0
	for _, s := range parts {
		n += len(s)
	}
	return n
}

// each changes every part on its own.
func each(parts []string, f func(i int, s string) string) []string {
	for i, s := range parts {
		parts[i] = f(i, s)
	}
	return parts
}

// byteLevelDecoder puts bytes for characters of the byte-level alphabet.
type byteLevelDecoder struct{}

func (byteLevelDecoder) decode(parts []string) ([]string, error) {
	var b []byte
	for _, s := range parts {
		b = appendBytes(b, s)
	}
	return []string{valid(b)}, nil
}

// byteFallback puts characters for runs of tokens <0x00> to <0xFF>, and the
// replacement character for each byte of a run that is not UTF-8.
type byteFallback struct{}

func (byteFallback) decode(parts []string) ([]string, error) {
	var out []string
	var run []byte
	flush := func() {
		if utf8.Valid(run) {
			out = append(out, string(run))
		} else {
			out = append(out, strings.Repeat(string(utf8.RuneError), len(run)))
		}
		run = run[:0]
	}
	for _, s := range parts {
		if b, ok := byteToken(s); ok {
			run = append(run, b)
			continue
		}
		if len(run) > 0 {
			flush()
		}
		out = append(out, s)
	}
	if len(run) > 0 {
		flush()
	}
	return out, nil
}

// byteToken returns the byte that <0xHH> stands for.
func byteToken(s string) (byte, bool) {
	if len(s) != 6 || s[:3] != "<0x" || s[5] != '>' {
		return 0, false
	}
	v, err := strconv.ParseUint(s[3:5], 16, 8)
	return byte(v), err == nil
}

// fuse joins all parts.
type fuse struct{}

func (fuse) decode(parts []string) ([]string, error) {
	return []string{strings.Join(parts, "")}, nil
}

// wordPieceDecoder joins tokens with a prefix to those before them.
type wordPieceDecoder struct {
	Prefix  string
	Cleanup bool
}

func (d *wordPieceDecoder) decode(parts []string) ([]string, error) {
	return each(parts, func(i int, s string) string {
		if i > 0 {
			if rest, ok := strings.CutPrefix(s, d.Prefix); ok {
				s = rest
			} else {
				s = " " + s
			}
		}
		if d.Cleanup {
			s = cleanup(s)
		}
		return s
	}), nil
}

// cleanups are applied one after the other, so that their order counts.
var cleanups = [][2]string{
	{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"},
	{" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
}

// cleanup takes back spaces that word-level tokens of English leave.
func cleanup(s string) string {
	for _, c := range cleanups {
		s = strings.ReplaceAll(s, c[0], c[1])
	}
	return s
}

// decode puts spaces for the visible character, but not at the start.
func (p *metaspace) decode(parts []string) ([]string, error) {
	return each(parts, func(i int, s string) string {
		if i == 0 && p.when != "never" {
			return strings.ReplaceAll(s, p.with, "")
		}
		return strings.ReplaceAll(s, p.with, " ")
	}), nil
}

// suffixDecoder puts spaces for what tokens at the end of a word end with.
type suffixDecoder struct{ Suffix string }

func (d *suffixDecoder) decode(parts []string) ([]string, error) {
	return each(parts, func(i int, s string) string {
		if i == len(parts)-1 {
			return strings.ReplaceAll(s, d.Suffix, "")
		}
		return strings.ReplaceAll(s, d.Suffix, " ")
	}), nil
}

// stripDecoder takes up to so many of a character off both ends of each part.
type stripDecoder struct {
	content     string
	start, stop int
}

func readStripDecoder(r raw) (*stripDecoder, error) {
	c, err := decode(r, struct {
		Content     string
		Start, Stop int
	}{})
	if err != nil {
		return nil, err
	}
	_, err = one("content", c.Content)
	return &stripDecoder{c.Content, c.Start, c.Stop}, err
}

func (d *stripDecoder) decode(parts []string) ([]string, error) {
	return each(parts, func(_ int, s string) string {
		for range d.start {
			rest, ok := strings.CutPrefix(s, d.content)
			if !ok {
				break
			}
			s = rest
		}
		for range d.stop {
			rest, ok := strings.CutSuffix(s, d.content)
			if !ok {
				break
			}
			s = rest
		}
		return s
	}), nil
}

// replaceDecoder puts a string for another, or for matches of a pattern.
type replaceDecoder struct {
	pattern *pattern.Pattern
	with    string
}

func readReplaceDecoder(r raw) (*replaceDecoder, error) {
	n, err := readReplace(r)
	if err != nil {
		return nil, err
	}
	if n.pattern == nil {
		s := string(n.plain)
		n.pattern, err = patternConfig{String: &s}.compile()
	}
	return &replaceDecoder{n.pattern, n.with}, err
}

func (d *replaceDecoder) decode(parts []string) ([]string, error) {
	var found []int32
	var err error
	for i, s := range parts {
		if s == "" {
			continue // not even a pattern of nothing matches there
		}
		if found, err = d.pattern.Find(found[:0], []byte(s)); err != nil {
			return nil, err
		}
		var b strings.Builder
		end := 0
		for j := 0; j < len(found); j += 2 {
			b.WriteString(s[end:found[j]])
			b.WriteString(d.with)
			end = int(found[j+1])
		}
		b.WriteString(s[end:])
		parts[i] = b.String()
	}
	return parts, nil
}

// ctc drops repetitions and blanks of a speech model (Graves, 2006).
type ctc struct {
	Pad       string `json:"pad_token"`
	Delimiter string `json:"word_delimiter_token"`
	Cleanup   bool
}

func (d *ctc) decode(parts []string) ([]string, error) {
	out := parts[:0]
	for _, s := range slices.Compact(parts) {
		s = strings.ReplaceAll(s, d.Pad, "")
		if d.Cleanup {
			s = strings.ReplaceAll(cleanup(s), d.Delimiter, " ")
		}
		if s != "" {
			out = append(out, s)
		}
	}
	return out, nil
}
