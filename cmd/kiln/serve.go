package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gokiln/kiln/models"
	"github.com/gokiln/kiln/models/generate"
	"github.com/gokiln/kiln/models/serve"
)

// batch is the generations of a model.
type batch = generate.Batch[*models.Sequence]

// What a server does at once where nothing is said.
const (
	defaultSequences = 64  // answers that grow together
	defaultChunk     = 512 // tokens of prompts in a step
)

// serveFlags are the flags of kiln serve.
type serveFlags struct {
	addr, device, dtype string
	context, chunk      int
	drain               time.Duration
	batch               generate.BatchOptions
	server              serve.Options
}

func serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve model...",
		Short: "serve models by OpenAI's HTTP interface",
		Long: "Serve loads models, folders as they are on the Hugging Face hub, names there, or GGUF files, and\n" +
			"answers /v1/chat/completions, /v1/completions, /v1/embeddings and /v1/models; name=model serves\n" +
			"one by another name. Beside them are /health, /metrics for Prometheus, and a page to chat on\n" +
			"at /. KILN_API_KEY is a key that clients have to give.\n\n" +
			"The first interrupt (Ctrl-C, SIGTERM) ends it as soon as the answers that have begun are\n" +
			"complete, the second one at once.",
		Example: "  kiln serve Qwen3-0.6B\n  kiln serve chat=llama.Q4_K_M.gguf bge-small-en-v1.5 -addr :8080",
		Args:    wanting(cobra.MinimumNArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	s := cmd.Flags()
	s.StringVar(&f.addr, "addr", "127.0.0.1:8080", "listen at this `address`; :8080 is all of the machine's")
	s.StringVar(&f.device, "device", "auto", "the `device`, such as cpu or cuda:0")
	s.StringVar(&f.dtype, "dtype", "auto", "the `type` of weights that are not quantized, such as bf16")
	s.IntVar(&f.context, "context", 0, "look at so many tokens at most; 0 for what the model is made for")
	s.IntVar(&f.batch.Sequences, "batch", defaultSequences, "so many answers grow together")
	s.IntVar(&f.batch.Waiting, "queue", 256, "so many wait at most; more are refused")
	s.IntVar(&f.batch.Tokens, "cache-tokens", 0, "keep so many tokens of all; 0 for what memory has room for")
	s.IntVar(&f.batch.Kept, "keep", 16, "keep so many conversations for their next turn")
	s.IntVar(&f.chunk, "chunk", defaultChunk, "feed so many tokens of prompts in a step")
	s.IntVarP(&f.server.MaxTokens, "max-tokens", "n", 0, "so many tokens of an answer at most; 0 for all that fit")
	s.Int64Var(&f.server.MaxBody, "max-body", 8<<20, "so many bytes of a request at most")
	s.DurationVar(&f.server.Timeout, "timeout", 10*time.Minute, "how long an answer may take, waiting included")
	s.DurationVar(&f.drain, "drain", 30*time.Second, "how long answers that have begun may take at the end")
	s.StringArrayVar(&f.server.Origins, "origin", nil, "pages of this `origin` may use the server, * for all; may be given again")
	return cmd
}

func (f *serveFlags) run(cmd *cobra.Command, args []string) error {
	b := &f.batch
	if min(f.context, b.Sequences, b.Waiting, b.Tokens, b.Kept, f.chunk, f.server.MaxTokens) < 0 {
		return usageError{errors.New("numbers are not negative")}
	}
	f.server.APIKey = os.Getenv("KILN_API_KEY")
	f.batch.Page = models.PageTokens
	f.batch.Device = &sync.Mutex{} // all models are on one
	// The address first: if it is taken, that is known before models are loaded.
	l, err := net.Listen("tcp", f.addr)
	if err != nil {
		return err
	}
	defer l.Close()
	var list []*serve.Model
	var batches []*batch
	for _, arg := range args {
		m, b, err := f.load(cmd, arg)
		if err != nil {
			return err
		}
		list = append(list, m)
		if b != nil {
			batches = append(batches, b)
			defer b.Close(stopped)
		}
	}
	s, err := serve.New(list, f.server)
	if err != nil {
		return err
	}
	return f.serve(cmd.ErrOrStderr(), l, s, batches)
}

// stopped is a context that has ended.
var stopped = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// load loads a model, and begins its batch if it makes text.
func (f *serveFlags) load(cmd *cobra.Command, arg string) (*serve.Model, *batch, error) {
	name, path, named := strings.Cut(arg, "=")
	if !named {
		path, name = arg, strings.TrimSuffix(arg, ".gguf")
		if _, err := os.Stat(path); err == nil { // not a name on the hub
			whole, err := filepath.Abs(name)
			if err != nil {
				return nil, nil, err
			}
			name = filepath.Base(whole)
		}
	}
	path, err := localModel(cmd, path)
	if err != nil {
		return nil, nil, err
	}
	o, stop, err := modelOptions(cmd.ErrOrStderr(), f.device, f.dtype)
	if err != nil {
		return nil, nil, err
	}
	defer stop()
	var lm *models.LM
	_, sentences := os.Stat(filepath.Join(path, "modules.json")) // of sentence-transformers
	if sentences != nil {
		p := o
		p.Paged = true
		lm, err = models.Open(path, p)
	}
	if sentences == nil || errors.Is(err, models.ErrConfig) {
		e, its := models.OpenEncoder(path, o)
		if its != nil {
			return nil, nil, cmp.Or(err, its)
		}
		return serve.NewEncoder(name, e, f.batch.Device), nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	limit := lm.Config.MaxPositions
	if f.context > 0 && (limit == 0 || f.context < limit) {
		limit = f.context
	}
	g := &generate.Generator[*models.Sequence]{
		Model: lm, Tokenizer: lm.Tokenizer, EOS: lm.Config.EOS, Context: limit, Chunk: f.chunk,
	}
	defaults, err := published(path)
	if err != nil {
		return nil, nil, err
	}
	b := generate.NewBatch(g, f.batch)
	m, err := serve.NewModel(name, lm, b, limit)
	if err != nil {
		return nil, nil, errors.Join(err, b.Close(context.Background()))
	}
	m.Defaults = defaults
	return m, b, nil
}

// serve answers until a signal comes, and then until what has begun is complete.
func (f *serveFlags) serve(
	stderr io.Writer, l net.Listener, s *serve.Server, batches []*batch,
) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	h := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(l) }()
	fmt.Fprintf(stderr, "serving on http://%v\n", l.Addr())
	select {
	case err := <-failed:
		return err
	case <-signals:
	}
	fmt.Fprintln(stderr, "stopping: answers that have begun are completed")
	ctx, cancel := context.WithTimeout(context.Background(), f.drain)
	defer cancel()
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	s.Drain()
	err := h.Shutdown(ctx)
	var all sync.WaitGroup
	for _, b := range batches {
		all.Go(func() { _ = b.Close(ctx) })
	}
	all.Wait()
	if err != nil {
		// The streams have been told why they end.
		last, done := context.WithTimeout(context.Background(), time.Second)
		defer done()
		if h.Shutdown(last) != nil {
			h.Close()
		}
		fmt.Fprintln(stderr, "stopped: answers that were not complete were cut off")
	}
	return nil
}
