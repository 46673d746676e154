// Package demo tells the story the project exists for, on a real control plane: pods wait, machines boot, the pods run;
// the pods go, the machines sleep.
//
// Up puts a sandbox together: control plane, machine room, the manager's own binary. Run tells the story on it, with the
// stand-in client or a real cluster-autoscaler as the one who asks for machines, and believes only what it saw: a World
// is fed by watches on the API server and by the machine room's power log, and a Checklist of facts about it decides
// whether the story was true. World, Checklist and the frame for the live view are pure.
package demo
