package machineroom

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"homecluster.dev/autoscaler/internal/power/process"
)

// asPowerCommand is the variable that makes this very binary the power command.
const asPowerCommand = "MACHINEROOM_POWER_COMMAND"

const powerUsage = "usage: power on|off|soft|cycle|status --url http://127.0.0.1:PORT/machines/NAME/power [--timeout 10s]"

// served is set once this binary has shown that it can be run again as the power command. Without it, running it
// again would run all of it again.
var served atomic.Bool

var errNotServed = errors.New(
	"no PowerCommand is given, and ServePowerCommand was not called first thing in main or TestMain")

// ServePowerCommand is the first line of a main or a TestMain whose binary the slots' pods run again as their power
// command. In such a run it does that and exits; otherwise it returns at once.
func ServePowerCommand() {
	if os.Getenv(asPowerCommand) != "" {
		os.Exit(PowerCommand(os.Args[1:]))
	}
	served.Store(true)
}

// PowerCommand works the switch of one machine. With --url that is the room's own, which args name beside an action; it
// prints what came of it and returns the exit code: 0 taken, 1 not taken, 2 not understood. Any other args are those of
// the program power, and so is what it prints and returns.
func PowerCommand(args []string) int { return powerCommand(args, os.Stdout, os.Stderr) }

func powerCommand(args []string, out, complaints io.Writer) int {
	if !slices.Contains(args, "--url") {
		return process.Run(args, out, complaints)
	}
	err := runPower(args, out)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		_, _ = fmt.Fprintln(complaints, err)
		return 2
	}
	_, _ = fmt.Fprintln(complaints, "power:", err)
	return 1
}

var errUsage = errors.New(powerUsage)

func runPower(args []string, out io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	action, flags := args[0], flag.NewFlagSet("power", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	url := flags.String("url", "", "")
	timeout := flags.Duration("timeout", 10*time.Second, "")
	if err := flags.Parse(args[1:]); err != nil || *url == "" || flags.NArg() > 0 {
		return errUsage
	}
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	switch Action(action) {
	case ActionOn, ActionOff, ActionSoft, ActionCycle:
		return pressAt(ctx, *url, Action(action), out)
	case "status":
		return statusAt(ctx, *url, out)
	}
	return errUsage
}

func pressAt(ctx context.Context, url string, action Action, out io.Writer) error {
	host, err := os.Hostname()
	if pod := os.Getenv("HOSTNAME"); pod != "" {
		host = pod // a kubelet puts the pod's name there
	} else if err != nil {
		host = "somebody"
	}
	body, err := json.Marshal(pressBody{Action: action, Source: host})
	if err != nil {
		return fmt.Errorf("encoding the press: %w", err)
	}
	if _, err := call(ctx, http.MethodPost, url, body); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "power %s: taken by %s\n", action, url)
	return err
}

func statusAt(ctx context.Context, url string, out io.Writer) error {
	text, err := call(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	var status Status
	if err := json.Unmarshal(text, &status); err != nil {
		return fmt.Errorf("reading the switch's answer: %w", err)
	}
	power := "off"
	if status.On {
		power = "on"
	}
	_, err = fmt.Fprintf(out, "%s: power %s, %s\n", status.Name, power, status.State)
	return err
}

func call(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("addressing the switch: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("reaching the switch: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err != nil {
		return nil, fmt.Errorf("reading the switch's answer: %w", err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return nil, fmt.Errorf("the switch refused with %s: %s", response.Status, strings.TrimSpace(string(text)))
	}
	return text, nil
}
