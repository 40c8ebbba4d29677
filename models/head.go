package models

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tokenizers"
)

// Task is what the head of an [Encoder] is for.
type Task int

const (
	NoTask         Task = iota // there is no head
	MaskedLM                   // scores of the vocabulary for each token
	ClassifyText               // scores of classes for each text, or one score of a pair (rerankers)
	ClassifyTokens             // scores of classes for each token, or of an answer's begin and end
)

// String is the name of the task.
func (t Task) String() string {
	names := []string{"none", "masked-lm", "classify-text", "classify-tokens"}
	if t >= 0 && int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("Task(%d)", int(t))
}

// taskEndings are the endings of the reference library's classes.
var taskEndings = []struct {
	ending string
	task   Task
}{
	{"ForMaskedLM", MaskedLM}, {"ForSequenceClassification", ClassifyText},
	{"ForTokenClassification", ClassifyTokens}, {"ForQuestionAnswering", ClassifyTokens},
}

// taskOf is the task that a configuration names.
func taskOf(c *Config) Task {
	for _, name := range c.Names {
		for _, t := range taskEndings {
			if strings.HasSuffix(name, t.ending) {
				return t.task
			}
		}
	}
	return NoTask
}

func isQA(name string) bool { return strings.HasSuffix(name, "ForQuestionAnswering") }

// headRow says what a head has: the names of its layers in files, "" for what is not there.
type headRow struct {
	dense, norm, out string
	bias             string // of scores that the embedding's weights make

	act     fn.Kind // behind dense
	ownAct  bool    // act is the configuration's
	noBias  bool    // dense has none
	noBiasO bool    // out has none
	pool    Pooling // of texts; the configuration may say another
}

// Head is what an encoder has behind its hidden states for a [Task]: out(norm(act(dense(h)))).
type Head struct {
	Dense *nn.Linear `nn:"dense"` // or nil
	Norm  norm       `nn:"norm"`  // or nil
	Out   *nn.Linear `nn:"out"`   // nil: the weights of the embedding
	Bias  *nn.Param  `nn:"bias"`  // of scores by the weights of the embedding, or nil

	row  headRow       `nn:"-"`
	act  fn.Activation `nn:"-"`
	late bool          // texts are pooled behind the head

	classes int // of texts or tokens
}

// headNames are what heads have in files.
const headNames = `^(cls|lm_head|classifier|pre_classifier|qa_outputs|head|decoder|dense|score|` +
	`discriminator_predictions|generator_|lm_predictions|mask_predictions|output)\b|^vocab_|` +
	`(^|\.)pooler\.|position_ids$`

// newHead returns the head of a configuration's task, nil if it names none or the files lack it.
func (r *encoderRow) newHead(
	c *Config, t *traits, tied bool, has func(ending string) bool,
) (Task, *Head, error) {
	task := taskOf(c)
	row, ok := r.heads[task]
	if c.gguf || !ok {
		return NoTask, nil, nil
	}
	if slices.ContainsFunc(c.Names, isQA) {
		row = headRow{out: "qa_outputs"}
	}
	first := row.out
	if row.dense != "" {
		first = row.dense
	}
	if !has(first + ".weight") {
		return NoTask, nil, nil
	}
	h := &Head{row: row, act: fn.Activation{Kind: row.act}}
	if row.ownAct {
		h.act = c.Act
	}
	width := c.HiddenSize
	if task == MaskedLM && t.embedWidth > 0 {
		width = t.embedWidth
	}
	if row.dense != "" {
		h.Dense = linear(c.HiddenSize, width, !row.noBias)
	}
	if row.norm != "" {
		h.Norm = t.newNorm(c, width)
	}
	switch {
	case task == MaskedLM && tied:
		if row.bias != "" {
			h.Bias = nn.NewParam(nn.Zeros, c.VocabSize)
		}
	case task == MaskedLM:
		h.Out = linear(c.HiddenSize, c.VocabSize, row.bias != "")
	default:
		h.classes = numLabels(c)
		h.Out = linear(width, h.classes, !row.noBiasO)
	}
	if err := h.pooling(c); err != nil {
		return NoTask, nil, err
	}
	return task, h, nil
}

// pooling reads how texts are pooled.
func (h *Head) pooling(c *Config) error {
	switch kind := c.keys.text("classifier_pooling"); kind {
	case "":
	case "cls", "bos":
		h.row.pool = PoolCLS
	case "mean":
		h.row.pool = PoolMean
	case "late":
		h.row.pool, h.late = PoolMean, true
	default:
		return fmt.Errorf("models: %w: classifier_pooling is %q", ErrConfig, kind)
	}
	return nil
}

// rename has the rules for the head's names.
func (h *Head) rename() [][2]string {
	bias := h.row.bias
	out := h.row.out
	rules := [][2]string{
		{`^head\.dense\.`, h.row.dense + "."}, {`^head\.norm\.`, h.row.norm + "."},
		{`^head\.bias$`, bias},
	}
	if h.Out != nil && bias != "" {
		rules = append(rules, [2]string{`^head\.out\.bias$`, bias})
	}
	return append(rules, [2]string{`^head\.out\.`, out + "."})
}

// forward returns scores, (n, classes) of (n, features).
func (h *Head) forward(x *tensor.Tensor, embed *nn.Embedding) *tensor.Tensor {
	if h.Dense != nil {
		x = h.act.Apply(h.Dense.Forward(x))
	}
	if h.Norm != nil {
		x = h.Norm.Forward(x)
	}
	if h.Out != nil {
		return h.Out.Forward(x).Cast(tensor.F32)
	}
	y := embed.Unembed(x).Cast(tensor.F32)
	if h.Bias != nil {
		y = y.Add(h.Bias.Tensor().Cast(tensor.F32))
	}
	return y
}

// Logits returns the scores of the head in float32, of texts as the tokenizer has them: (texts,
// classes) of [ClassifyText]; of the others (tokens, classes), the tokens of all texts one behind
// the other. The classes of [MaskedLM] are the vocabulary. An encoder without a head is an error of
// kind [ErrConfig], in what it returns.
func (e *Encoder) Logits(texts []*tokenizers.Encoding) *tensor.Tensor {
	const op = "models: logits"
	h := e.Net.Head
	if h == nil {
		return tensor.Fail(op, fmt.Errorf("%w: %v is published without a head", ErrConfig, e.Config.Names))
	}
	return e.batches(op, texts, func(s *States) *tensor.Tensor {
		if e.Task != ClassifyText {
			return h.forward(s.Hidden, e.Net.Embed)
		}
		if h.late {
			s = &States{Hidden: h.forward(s.Hidden, e.Net.Embed), Starts: s.Starts}
			return s.Pool(h.row.pool)
		}
		return h.forward(s.Pool(h.row.pool).Cast(e.DType), e.Net.Embed)
	})
}

// Score returns how well each text answers a query, (texts) in float32, as a cross-encoder
// (reranker) is published to: with one class, its score behind a sigmoid unless the configuration
// says otherwise. Other encoders are an error of kind [ErrConfig].
func (e *Encoder) Score(query string, texts ...string) *tensor.Tensor {
	const op = "models: score"
	if e.Net.Head == nil || e.Task != ClassifyText || e.Net.Head.classes != 1 {
		return tensor.Fail(op, fmt.Errorf("%w: %v does not score pairs", ErrConfig, e.Config.Names))
	}
	list := make([]*tokenizers.Encoding, len(texts))
	for i, text := range texts {
		var err error
		if list[i], err = e.tokenize(query, []string{text}); err != nil {
			return tensor.Fail(op, fmt.Errorf("text %d: %w", i, err))
		}
	}
	y := e.Logits(list)
	if y.Err() != nil {
		return y
	}
	if y = y.Reshape(len(texts)); e.plain {
		return y
	}
	return y.Sigmoid()
}

// numLabels is how many classes there are.
func numLabels(c *Config) int {
	if n := len(value[map[string]string](&c.keys, nil, "id2label")); n > 0 {
		return n
	}
	return value(&c.keys, 2, "num_labels")
}

// labels are the names of classes.
func labels(c *Config) []string {
	names := value[map[string]string](&c.keys, nil, "id2label")
	if len(names) == 0 {
		return nil
	}
	out := make([]string, len(names))
	for text, name := range names {
		if i, err := strconv.Atoi(text); err == nil && i >= 0 && i < len(out) {
			out[i] = name
		}
	}
	return out
}

// plainScores says whether a cross-encoder's scores are used as they are.
func plainScores(c *Config) bool {
	name := c.keys.text("sbert_ce_default_activation_function")
	if _, v := c.keys.raw([]string{"sentence_transformers"}); v != nil {
		var s struct {
			Act string `json:"activation_fn"`
		}
		if json.Unmarshal(v, &s) == nil && s.Act != "" {
			name = s.Act
		}
	}
	return strings.HasSuffix(name, "Identity")
}
