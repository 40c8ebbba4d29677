package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/gokiln/kiln/models/hub"
)

func pullCommand() *cobra.Command {
	var files []string
	cmd := &cobra.Command{
		Use:   "pull name...",
		Short: "download language models from the Hugging Face hub",
		Long: "Pull downloads what kiln run needs of repositories of the hub, and prints where it is: in the\n" +
			"cache that the hub's own libraries use. A name is org/name, with @revision behind it for another\n" +
			"branch, tag or commit than main, and :part for one of its files or the type of a GGUF file's\n" +
			"weights. A download that was cut goes on where it ended.\n\n" +
			"HF_HOME and HF_HUB_CACHE say where the cache is, HF_ENDPOINT names a mirror, and HF_TOKEN is for\n" +
			"what is private or gated.",
		Example: "  kiln pull Qwen/Qwen3-0.6B\n  kiln pull org/name-GGUF:Q4_K_M\n  kiln pull org/name -files '*.json'",
		Args:    wanting(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range args {
				path, err := pull(cmd, name, files)
				if err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), path)
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&files, "files", nil,
		"files that match this `pattern`, with * for any characters, and no others; may be given several times")
	return cmd
}

// pull downloads a model, or files, and returns where they are.
func pull(cmd *cobra.Command, name string, files []string) (string, error) {
	n, err := hub.ParseName(name)
	if err != nil {
		return "", usageError{err}
	}
	if len(files) > 0 && n.Part != "" {
		return "", usageError{fmt.Errorf("%s: -files takes no part of a name", name)}
	}
	c, err := hub.FromEnvironment()
	if err != nil {
		return "", err
	}
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	var set func(done int64)
	stop := func() {}
	defer func() { stop() }()
	show := func(done, all int64) {
		if set == nil {
			set, stop = byteProgress(cmd.ErrOrStderr(), all)
		}
		set(done)
	}
	if len(files) > 0 {
		return c.Download(ctx, n.Repo, hub.Options{Revision: n.Revision, Allow: files, Progress: show})
	}
	return c.Model(ctx, name, show)
}

// localModel is where a model is: at a path, or in the cache if there is none and it is one of the
// hub, from which it is downloaded.
func localModel(cmd *cobra.Command, name string) (string, error) {
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	if _, err := hub.ParseName(name); err != nil {
		return name, nil // a path that is not there
	}
	path, err := pull(cmd, name, nil)
	if err != nil {
		return "", fmt.Errorf("%s is no file or folder here: %w", name, err)
	}
	return path, nil
}
