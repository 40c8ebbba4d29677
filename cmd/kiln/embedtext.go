package main

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gokiln/kiln/models"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/npy"
)

// embedFlags are the flags of kiln embed.
type embedFlags struct {
	device, dtype, pool, prompt, query, out string
	normalize, similarity                   bool
	tokens                                  int
}

func embedCommand() *cobra.Command {
	var f embedFlags
	cmd := &cobra.Command{
		Use:   "embed model [texts...]",
		Short: "make vectors of texts, or compare texts",
		Long: "Embed loads an encoder, such as BERT, or a language model that makes embeddings: a folder as\n" +
			"it is on the Hugging Face hub, a name there, or a GGUF file. It writes a JSON object for each text, or with\n" +
			"-o an .npy file of all vectors. Without texts, or for -, each line of the standard input is a\n" +
			"text. Pooling, prompt and norm are those that are published with the model, for\n" +
			"sentence-transformers or in the GGUF file.\n\n" +
			"With -query texts are sorted by how well they answer it, by a reranker (cross-encoder) too.",
		Example: "  kiln embed all-MiniLM-L6-v2 \"a cat sat\" \"a dog ran\"\n" +
			"  kiln embed bge-small-en-v1.5 -o vectors.npy < texts.txt\n" +
			"  kiln embed bge-reranker-base -query \"where is the cat?\" \"on the mat\" \"it rains\"",
		Args: wanting(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], args[1:]) },
	}
	s := cmd.Flags()
	s.StringVar(&f.device, "device", "auto", "the `device`, such as cpu or cuda:0")
	s.StringVar(&f.dtype, "dtype", "auto", "the `type` of weights that are not quantized, such as bf16")
	s.StringVar(&f.pool, "pool", "", "how tokens become a vector: `mean`, cls, last, max, sqrt or weighted")
	s.BoolVar(&f.normalize, "normalize", false, "divide vectors by their norms")
	s.StringVar(&f.prompt, "prompt", "", "put this `text` in front of each, or the model's prompt of this name")
	s.IntVar(&f.tokens, "max-tokens", 0, "take so many tokens of a text; 0 for what the model is made for")
	s.StringVarP(&f.out, "output", "o", "", "write vectors, or with -similarity cosines, into this .npy `file`")
	s.BoolVar(&f.similarity, "similarity", false, "print the cosines of all pairs of texts")
	s.StringVar(&f.query, "query", "", "print texts by how well they answer this `text`")
	return cmd
}

func (f *embedFlags) run(cmd *cobra.Command, model string, texts []string) error {
	if f.similarity && f.query != "" || f.out != "" && f.query != "" {
		return usageError{errors.New("-query goes with neither -similarity nor -o")}
	}
	if f.out != "" && !strings.HasSuffix(f.out, ".npy") {
		return usageError{fmt.Errorf("-o %s: want an .npy file", f.out)}
	}
	path, err := localModel(cmd, model)
	if err != nil {
		return err
	}
	e, err := f.open(cmd, path)
	if err != nil {
		return err
	}
	out, next := cmd.OutOrStdout(), given(texts)
	if len(texts) == 0 || len(texts) == 1 && texts[0] == "-" {
		next = linesOf(cmd.InOrStdin())
	}
	switch {
	case f.query != "":
		return f.rank(e, out, next)
	case f.similarity:
		return f.compare(e, out, next)
	case f.out != "":
		_, vectors, err := all(e, next)
		if err != nil {
			return err
		}
		return writeRows(f.out, vectors)
	}
	w := json.NewEncoder(out)
	w.SetEscapeHTML(false)
	return eachVector(e, next, func(text string, vector []float32) error {
		return w.Encode(embedded{text, vector})
	})
}

// embedded is a line of the output.
type embedded struct {
	Text      string    `json:"text"`
	Embedding []float32 `json:"embedding"`
}

// open loads the model with what flags say otherwise.
func (f *embedFlags) open(cmd *cobra.Command, model string) (*models.Encoder, error) {
	o, stop, err := modelOptions(cmd.ErrOrStderr(), f.device, f.dtype)
	if err != nil {
		return nil, err
	}
	defer stop()
	var pool models.Pooling
	if f.pool != "" {
		if pool, err = models.ParsePooling(f.pool); err != nil {
			return nil, usageError{err}
		}
	}
	if f.tokens < 0 {
		return nil, usageError{errors.New("-max-tokens is not negative")}
	}
	e, err := models.OpenEncoder(model, o)
	if err != nil {
		return nil, err
	}
	if f.pool != "" {
		e.Pooling = pool
	}
	if cmd.Flags().Changed("normalize") {
		e.Normalize = f.normalize
	}
	if cmd.Flags().Changed("prompt") {
		e.Prompt = f.prompt
		if p, ok := e.Prompts[f.prompt]; ok {
			e.Prompt = p
		}
	}
	if f.tokens > 0 {
		e.MaxTokens = f.tokens
	}
	return e, nil
}

// batchTexts is how many texts are read before vectors of them are made.
const batchTexts = 256

// textSource returns the next texts, none at the end.
type textSource func() ([]string, error)

func given(texts []string) textSource {
	return func() (part []string, err error) {
		n := min(len(texts), batchTexts)
		part, texts = texts[:n], texts[n:]
		return part, nil
	}
}

// linesOf has the lines of a reader, without their ends.
func linesOf(r io.Reader) textSource {
	in := bufio.NewReader(r)
	return func() (part []string, err error) {
		for len(part) < batchTexts {
			line, err := in.ReadString('\n')
			if line != "" {
				part = append(part, strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
		}
		return part, nil
	}
}

// eachVector makes vectors of texts.
func eachVector(e *models.Encoder, next textSource, do func(text string, vector []float32) error) error {
	for {
		texts, err := next()
		if err != nil || len(texts) == 0 {
			return err
		}
		y := e.Embed(texts...)
		list, err := tensor.ToSlice[float32](y)
		if err != nil {
			return err
		}
		n := len(list) / len(texts)
		for i, text := range texts {
			if err := do(text, list[i*n:(i+1)*n]); err != nil {
				return err
			}
		}
	}
}

// all collects texts and vectors.
func all(e *models.Encoder, next textSource) (texts []string, vectors [][]float32, err error) {
	err = eachVector(e, next, func(text string, vector []float32) error {
		texts, vectors = append(texts, text), append(vectors, vector)
		return nil
	})
	if err == nil && len(texts) == 0 {
		err = errors.New("no texts")
	}
	return texts, vectors, err
}

// compare prints or writes the cosines of all pairs.
func (f *embedFlags) compare(e *models.Encoder, out io.Writer, next textSource) error {
	e.Normalize = true
	texts, vectors, err := all(e, next)
	if err != nil {
		return err
	}
	cosines := make([][]float32, len(vectors))
	for i, a := range vectors {
		for _, b := range vectors {
			cosines[i] = append(cosines[i], dot(a, b))
		}
	}
	if f.out != "" {
		return writeRows(f.out, cosines)
	}
	w := bufio.NewWriter(out)
	for i, row := range cosines {
		for _, x := range row {
			fmt.Fprintf(w, "%7.4f ", x)
		}
		fmt.Fprintf(w, " %s\n", texts[i])
	}
	return w.Flush()
}

func dot(a, b []float32) float32 {
	sum := 0.0
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return float32(sum)
}

// rank prints texts by how well they answer the query.
func (f *embedFlags) rank(e *models.Encoder, out io.Writer, next textSource) error {
	texts, scores, err := f.scores(e, next)
	if err != nil {
		return err
	}
	order := make([]int, len(texts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	w := bufio.NewWriter(out)
	for _, i := range order {
		fmt.Fprintf(w, "%7.4f  %s\n", scores[i], texts[i])
	}
	return w.Flush()
}

// scores are those of a cross-encoder, or cosines of vectors. Of a model with prompts for queries and
// texts each has its own, unless -prompt says one for the texts.
func (f *embedFlags) scores(e *models.Encoder, next textSource) ([]string, []float32, error) {
	var texts []string
	var scores []float32
	if e.Task == models.ClassifyText {
		for {
			part, err := next()
			if err != nil || len(part) == 0 {
				return texts, scores, err
			}
			list, err := tensor.ToSlice[float32](e.Score(f.query, part...))
			if err != nil {
				return nil, nil, err
			}
			texts, scores = append(texts, part...), append(scores, list...)
		}
	}
	e.Normalize = true
	prompt := e.Prompt
	if p, ok := e.Prompts["query"]; ok {
		e.Prompt = p
	}
	query, err := tensor.ToSlice[float32](e.Embed(f.query))
	if err != nil {
		return nil, nil, fmt.Errorf("-query: %w", err)
	}
	e.Prompt = prompt
	for _, name := range []string{"document", "passage"} {
		if p, ok := e.Prompts[name]; ok && f.prompt == "" {
			e.Prompt = p
			break
		}
	}
	err = eachVector(e, next, func(text string, vector []float32) error {
		texts, scores = append(texts, text), append(scores, dot(query, vector))
		return nil
	})
	return texts, scores, err
}

// writeRows writes an .npy file.
func writeRows(path string, rows [][]float32) error {
	var b []byte
	for _, row := range rows {
		for _, x := range row {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	e, err := file.FromMemory("vectors", dtype.F32, []int{len(rows), len(rows[0])}, b)
	if err != nil {
		return err
	}
	return npy.WriteFile(path, e)
}
