package bmc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// serveMagic is the machine's network card, which waits for a packet with its address sixteen times in it for as long as
// the machine is off. Other packets leave no trace.
func serveMagic(w *wire, host string, mac net.HardwareAddr) (address string, stop func(), err error) {
	var network net.ListenConfig
	conn, err := network.ListenPacket(w.ctx, "udp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", nil, fmt.Errorf("listening for %s: %w", w.protocol, err)
	}
	ctx, cancel := context.WithCancel(w.ctx)
	wanted := append(bytes.Repeat([]byte{0xff}, 6), bytes.Repeat(mac, 16)...)
	var work sync.WaitGroup
	work.Go(func() {
		buf := make([]byte, 1<<10)
		for {
			n, _, err := conn.ReadFrom(buf)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil || !bytes.Contains(buf[:n], wanted) || w.withholds() || w.drops() {
				continue
			}
			work.Go(func() {
				w.dawdle(ctx, w.source(""))
				if !w.machine.Status().On {
					// There is nobody to tell of an error, and the log has it.
					_ = w.act(ctx, machineroom.ActionOn, w.source(""), "")
				}
			})
		}
	})
	return conn.LocalAddr().String(), func() {
		cancel()
		_ = conn.Close()
		work.Wait()
	}, nil
}
