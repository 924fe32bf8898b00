use thalweg_simnet::collect;
use thalweg_host::registry::Pipelined;
use thalweg_testbeds::{Site,Testbed};
fn main(){
 let p=std::env::args().nth(1).unwrap();
 for seed in 1..=3 {
 let tb=Testbed::load(&p).unwrap();
 
 let site=Site::new(tb,seed);
 let s=collect::Surveyed::open(site,(None,Pipelined::named("thalweg").unwrap()),None,&mut |a,b|{ let _=(a,b); std::ops::ControlFlow::Continue(())});
 match s { Ok(s)=>{ let missing=s.cost().missing.clone(); println!("{} s missing {missing:?}", s.cost().seconds()); }, Err(e)=>println!("{e}") }
 }
}
