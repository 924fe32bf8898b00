"""One hop and three hops of saturated carrier sense in ns-3 3.44, from its wheel: `pip install ns3`."""

import random
import resource
import sys
import time

begun = time.perf_counter()
from ns import ns  # noqa: E402

# What a node does on a frame is C++: callbacks in Python were not tried.
ns.cppyy.cppdef("""
using namespace ns3;
std::vector<uint32_t> arrived;                       // packets that reached the sink, by their source
std::set<std::pair<int, std::vector<uint8_t>>> seen;  // at each node: an acknowledgement that was lost makes a copy
uint32_t made = 0;
std::vector<Ptr<NetDevice>> nodes;
std::vector<int> parent;                             // of each node; the sink is its own
double counted_from = 0;

Address to(int node) { return nodes[parent[node]]->GetObject<lrwpan::LrWpanNetDevice>()->GetMac()->GetShortAddress(); }

bool heard(Ptr<NetDevice> at, Ptr<const Packet> frame, uint16_t, const Address&) {
    int node = at->GetNode()->GetId() - nodes[0]->GetNode()->GetId();
    std::vector<uint8_t> packet(5);
    frame->CopyData(packet.data(), 5);
    if (!seen.insert({node, packet}).second) return true;
    if (node != 0) { at->Send(frame->Copy(), to(node), 0); return true; }
    if (Simulator::Now().GetSeconds() < counted_from) return true;
    arrived[packet[0]] += 1;
    return true;
}

void make(int node, int bytes, double period) {
    std::vector<uint8_t> payload(bytes, node);
    std::memcpy(&payload[1], &++made, 4);
    nodes[node]->Send(Create<Packet>(payload.data(), bytes), to(node), 0);
    Simulator::Schedule(Seconds(period), &make, node, bytes, period);
}

void begin(NetDeviceContainer devices, std::vector<int> parents, std::vector<double> phases, int bytes, double period, double from) {
    nodes.clear();
    for (uint32_t i = 0; i < devices.GetN(); i++) nodes.push_back(devices.Get(i));
    parent = parents;
    arrived.assign(parents.size(), 0);
    seen.clear();
    counted_from = from;
    for (int i = 0; i < (int)parents.size(); i++) {
        auto device = nodes[i]->GetObject<lrwpan::LrWpanNetDevice>();
        device->SetReceiveCallback(MakeCallback(&heard));
        device->GetMac()->SetTxQMaxSize(8);
        if (i) Simulator::Schedule(Seconds(1 + period * phases[i]), &make, i, bytes, period);
    }
}
""")


def simulate(links, parents, seed, seconds=100, settle=30, payload=114, per_second=100):
    ns.RngSeedManager.SetRun(seed)
    phase = random.Random(seed)
    nodes = ns.NodeContainer()
    nodes.Create(len(parents))
    mobility = ns.MobilityHelper()
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel")
    mobility.Install(nodes)
    loss = ns.CreateObject[ns.MatrixPropagationLossModel]()
    loss.SetDefaultLoss(200)
    place = [nodes.Get(n).GetObject[ns.MobilityModel]() for n in range(len(parents))]
    for one, other in links:
        loss.SetLoss(place[one], place[other], 70)
    channel = ns.CreateObject[ns.SingleModelSpectrumChannel]()
    channel.AddPropagationLossModel(loss)
    channel.SetPropagationDelayModel(ns.CreateObject[ns.ConstantSpeedPropagationDelayModel]())
    helper = ns.LrWpanHelper()
    helper.SetPropagationDelayModel("ns3::ConstantSpeedPropagationDelayModel")
    helper.SetChannel(channel)
    devices = helper.Install(nodes)
    helper.CreateAssociatedPan(devices, 0)
    ns.cppyy.gbl.begin(devices, parents, [phase.random() for _ in parents], payload, 1 / per_second, settle)
    ns.Simulator.Stop(ns.Seconds(settle + seconds))
    ns.Simulator.Run()
    ns.Simulator.Destroy()
    return [count / seconds for count in ns.cppyy.gbl.arrived][1:]


def measure(name, links, parents):
    before = time.process_time()
    runs = [simulate(links, parents, seed) for seed in range(1, 11)]
    took = time.process_time() - before
    each = [sum(run[source] for run in runs) / len(runs) for source in range(len(parents) - 1)]
    totals = [sum(run) for run in runs]
    print(f"{name}: {sum(each):.1f} packets/s ({min(totals):.1f} to {max(totals):.1f}), of each source {each}; {took:.2f} s")


print(f"ns-3 is there after {time.perf_counter() - begun:.1f} s")
measure("one hop", [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3), (1, 3)], [0, 0, 0, 0])
measure("three hops", [(0, 1), (1, 2), (2, 3)], [0, 0, 1, 2])
print(f"{time.perf_counter() - begun:.1f} s and {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB in all", file=sys.stderr)
