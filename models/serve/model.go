package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gokiln/kiln/models"
	"github.com/gokiln/kiln/models/chat"
	"github.com/gokiln/kiln/models/generate"
	"github.com/gokiln/kiln/models/generate/grammar"
	"github.com/gokiln/kiln/tokenizers"
)

// Engine runs generations, as generate.Batch does.
type Engine interface {
	Start(ctx context.Context, prompt []int32, o generate.Options) (*generate.Stream, error)
	Stats() generate.BatchStats
}

// Embedder makes vectors of texts.
type Embedder interface {
	// Embed returns a vector for each text, and how many tokens they have together.
	Embed(ctx context.Context, texts []string) (vectors [][]float32, tokens int, err error)
}

// Model is a language model as it is served. Its fields do not change once a server has it.
type Model struct {
	ID        string
	Created   time.Time
	Engine    Engine // nil if it makes no text
	Tokenizer *tokenizers.Tokenizer
	Template  string            // of chats; "" if there are none
	BOS, EOS  string            // texts of special tokens, for the template
	Ends      []int32           // tokens that end texts
	Vocab     int               // logits of the model
	Context   int               // tokens it can look at; 0 for any number
	Defaults  generate.Sampling // where requests say nothing
	Embedder  Embedder          // nil if there are no embeddings

	once     sync.Once
	template *chat.Template
	tools    toolFormat
	broken   error

	words    sync.Once
	known    *grammar.Vocabulary
	knownErr error

	mu       sync.Mutex
	grammars map[string]*grammar.Grammar
}

// NewModel returns a model as [models.Open] has loaded it. The engine is a batch of a generator with
// it, of which context is the number of tokens that it looks at.
func NewModel(id string, lm *models.LM, engine Engine, context int) (*Model, error) {
	if lm.Tokenizer == nil {
		err := fmt.Errorf("serve: %s: there is no tokenizer beside the weights", id)
		return nil, errors.Join(err, lm.TokenizerErr)
	}
	m := &Model{ID: id, Created: time.Now(), Engine: engine, Tokenizer: lm.Tokenizer,
		Template: lm.Template, Ends: lm.Config.EOS, Vocab: lm.Config.VocabSize, Context: context}
	m.BOS, _ = lm.Tokenizer.Token(lm.Config.BOS)
	if len(m.Ends) > 0 {
		m.EOS, _ = lm.Tokenizer.Token(m.Ends[0])
	}
	return m, nil
}

// chats returns the model's chat template.
func (m *Model) chats() (*chat.Template, error) {
	m.once.Do(func() {
		if m.Template == "" {
			m.broken = bad("model", "it has no chat template; /v1/completions goes on with a text")
			return
		}
		if m.template, m.broken = chat.Parse(m.Template); m.broken != nil {
			m.broken = bad("model", "its chat template: %v", m.broken)
		}
		m.tools = formatOf(m.Template)
	})
	return m.template, m.broken
}

// maxGrammars is how many grammars are kept.
const maxGrammars = 64

// readGrammar reads a grammar from a text.
type readGrammar = func(text string) (*grammar.Grammar, error)

// schemaOf reads a JSON schema.
func schemaOf(text string) (*grammar.Grammar, error) { return grammar.JSONSchema([]byte(text)) }

// grammar returns what a grammar was read to before, or reads it.
func (m *Model) grammar(kind, text string, read readGrammar) (*grammar.Grammar, error) {
	key := kind + ":" + text
	m.mu.Lock()
	defer m.mu.Unlock()
	if g := m.grammars[key]; g != nil {
		return g, nil
	}
	g, err := read(text)
	if err != nil {
		return nil, bad(kind, "%v", err)
	}
	if m.grammars == nil || len(m.grammars) >= maxGrammars {
		m.grammars = map[string]*grammar.Grammar{}
	}
	m.grammars[key] = g
	return g, nil
}

// constrain returns a constraint by a grammar, for one answer.
func (m *Model) constrain(g *grammar.Grammar) (generate.Constraint, error) {
	if g == nil {
		return nil, nil
	}
	m.words.Do(func() { m.known, m.knownErr = grammar.NewVocabulary(m.Tokenizer, m.Ends, m.Vocab) })
	if m.knownErr != nil {
		return nil, m.knownErr
	}
	return g.Constrain(m.known), nil
}
