// What `test_typescript.py` lets Node do: argv is the client's file and the server's address.

const [file, url] = process.argv.slice(2);
const { Evenmatch, ServerRefused } = await import(file);
const server = new Evenmatch(url, { firstPause: 10 });
const said = [];

const party = (id) => ({ queues: ["duel"], players: [{ id, rating: { mean: 1500 } }] });
const ada = await server.createTickets(party("ada"));
said.push(ada.state);
const [bob, none] = await server.createTickets([party("bob"), { queues: ["duel"], players: [] }]);
said.push(bob.status, none.error);

for await (const now of server.followTicket(ada.id)) {
  said.push(now.state);
  if (now.state === "matched") {
    await server.assignMatch(now.match, { connection: "10.0.0.1:7777" });
  } else if (now.state === "assigned") {
    said.push(now.assignment.connection);
    break;
  }
}

const page = await server.getQueueMatches("duel", { after: 0, wait: 1 });
said.push(page.matches[0].tickets.join("+"));
try {
  await server.cancelTicket(bob.id);
} catch (refusal) {
  said.push(refusal instanceof ServerRefused, refusal.status, refusal.code);
}

const cy = await server.createTickets(party("cy"));
for await (const event of server.stream([cy.id, "s0-99"])) {
  said.push(event.event);
  if (event.event === "problem") await server.cancelTicket(cy.id);
}
said.push((await server.getTicket(cy.id)).reason);

// A server that is away: the last try says so.
const away = new Evenmatch("http://127.0.0.1:9", { tries: 2, firstPause: 1 });
await away.getHealth().catch((error) => said.push(error instanceof TypeError));
console.log(JSON.stringify(said));
